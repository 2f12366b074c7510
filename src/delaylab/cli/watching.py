"""Verbs that watch a running lab: one function per verb, without logic."""

from __future__ import annotations

from typing import Annotated

import typer

from delaylab.cli.numbers import seconds
from delaylab.cli.options import Json, NamesLab, OneLab, app, console, print_json
from delaylab.units import Duration

LONGEST = Duration.parse("24h")


@app.command(cls=NamesLab)
def watch(
    lab_name: OneLab = None,
    length: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long to watch.")
    ] = "10s",
    quiet: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="The time without a change after which a burst is over."
        ),
    ] = "1s",
    as_json: Json = False,
) -> None:
    """Watch the forwarding tables of a running lab while you break it from another terminal.

    Each burst of changes is printed: its first and last change, the routers, and the destinations
    that packets did not reach meanwhile, since they ended at a router (a black hole) or went around
    some (a loop). These follow from the tables of all nodes; no packet is sent.
    """
    from delaylab.lab.attach import attach
    from delaylab.lab.routing.observer import observing
    from delaylab.verbs import watch as verb

    lasting, rest = seconds(length, "--for", LONGEST), seconds(quiet, "--quiet", LONGEST)
    lab = attach(lab_name)
    with observing(lab) as observer:
        watching = verb.Watching(lab, observer)
        if not as_json:
            console().print(verb.about(observer))
        bursts = []
        for burst in watching.bursts(lasting, rest):
            bursts.append(burst)
            if not as_json:
                verb.print_burst(burst, watching.names, console())
        if as_json:
            print_json(verb.as_json(bursts, observer, watching.names))
        elif not bursts:
            console().print(f"no table changed within {length}")
