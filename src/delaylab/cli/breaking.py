"""Verbs that break a running lab, and mend it: one function per verb, without logic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from delaylab.cli.numbers import duration, rule
from delaylab.cli.options import (
    InOrder,
    Json,
    NamesLabFirst,
    OneLab,
    Verbs,
    app,
    console,
    in_order,
    link,
    print_found,
    print_json,
)
from delaylab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from delaylab.lab.node_events import NodeDeed, NodeEvent
    from delaylab.verbs.events import LinkDeed, LinkEvent

node = typer.Typer(
    cls=Verbs, help="Stop, kill and start nodes of a running lab.", no_args_is_help=True
)
app.add_typer(node, name="node")

Lab = Annotated[
    str, typer.Argument(metavar="LAB", help="The name of the lab; not needed if only one is up.")
]
LinkNames = Annotated[
    list[str], typer.Argument(metavar="LINK …", help="The links; they change at one moment.")
]
NodeNames = Annotated[list[str], typer.Argument(metavar="NODE …", help="The nodes.")]
OfNode = Annotated[
    str | None,
    typer.Option("--node", metavar="NODE", help="Change only what this node sends, at its end."),
]
Programs = Annotated[
    list[str] | None,
    typer.Option(
        "--program",
        metavar="PROGRAM",
        help="Only this program of the node, such as ospfd; may be repeated.",
    ),
]


OF_NODES = ("--stop", "--kill", "--start", "--restart")
"""The options that are of nodes, or of their programs."""


@link.command("down", cls=NamesLabFirst)
def link_down(lab_name: Lab, links: LinkNames, of: OfNode = None, as_json: Json = False) -> None:
    """Take links down: both ends lose their carrier, as if the cable were pulled."""
    _links(lab_name, links, "down", of, as_json=as_json)


@link.command("silence", cls=NamesLabFirst)
def link_silence(lab_name: Lab, links: LinkNames, of: OfNode = None, as_json: Json = False) -> None:
    """Silence links: all frames vanish, and no end notices, for the carrier stays."""
    _links(lab_name, links, "silent", of, as_json=as_json)


@link.command("up", cls=NamesLabFirst)
def link_up(lab_name: Lab, links: LinkNames, of: OfNode = None, as_json: Json = False) -> None:
    """Take links up again that are down or silent."""
    _links(lab_name, links, "up", of, as_json=as_json)


@link.command("flap", cls=NamesLabFirst)
def link_flap(
    lab_name: Lab,
    links: LinkNames,
    length: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="The time that they are down.")
    ] = "1s",
    as_json: Json = False,
) -> None:
    """Take links down, and up again after a time."""
    from delaylab.lab.attach import attach
    from delaylab.verbs import events as verb

    _print(verb.flap(attach(lab_name), links, duration(length, "--for")), as_json=as_json)


def _links(lab_name: str, links: list[str], do: LinkDeed, of: str | None, *, as_json: bool) -> None:
    from delaylab.lab.attach import attach
    from delaylab.verbs import events as verb

    _print(verb.change_links(attach(lab_name), links, do, of), as_json=as_json)


def _print(events: Sequence[LinkEvent | NodeEvent], *, as_json: bool) -> None:
    from delaylab.verbs import events as verb

    print_found(events, verb.as_json, verb.print_events, as_json=as_json)


@app.command(cls=InOrder)
def converge(
    ctx: typer.Context,
    lab_name: OneLab = None,
    down: Annotated[
        list[str] | None, typer.Option(metavar="LINK", help="Take this link down; may be repeated.")
    ] = None,
    silence: Annotated[
        list[str] | None, typer.Option(metavar="LINK", help="Silence this link; may be repeated.")
    ] = None,
    up: Annotated[
        list[str] | None, typer.Option(metavar="LINK", help="Take this link up; may be repeated.")
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK[:NODE]=COST",
            help="Tell the daemons another cost of this link, or of the end of one node; may be "
            "repeated.",
        ),
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="Freeze this node; may be repeated.")
    ] = None,
    kill: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="Kill this node; may be repeated.")
    ] = None,
    start: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="Start this node; may be repeated.")
    ] = None,
    restart: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="Restart this node; may be repeated.")
    ] = None,
    programs: Programs = None,
    timeout: Annotated[
        str,
        typer.Option(metavar="DURATION", help="The longest wait for the tables after each event."),
    ] = "2min",
    until: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="The end of each wait: `right`, all tables are the shortest paths, or `quiet:5s`, "
            "no table has changed for so long. Left out, `right` where that is known.",
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the routers over time, as SVG; `-`: print it."),
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the routers over time, as PNG.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a page: the picture, a table of events, changed ways."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Break what is named in a running lab, and watch its routers until they have converged.

    The options act one after the other, in the order of the command line; what one option names
    that is repeated at once changes at one moment. A forwarding table is right if it has exactly
    the shortest paths of the network as it then is. Where that is not known, or with
    `--until quiet:5s`, the network has converged with the last change before a quiet time.
    """
    from delaylab.lab.attach import attach
    from delaylab.verbs import converge as verb
    from delaylab.verbs.converge_view import as_json as json_of
    from delaylab.verbs.converge_view import draw, print_outcomes, require
    from delaylab.verbs.pictures import Targets

    targets = Targets(svg, png, html)
    require(targets)
    of_programs = tuple(programs or ())
    given: list[tuple[str, verb.Deed, list[str] | None]] = [
        ("--down", "down", down),
        ("--silence", "silent", silence),
        ("--up", "up", up),
        ("--cost", "cost", cost),
        ("--stop", "stop", stop),
        ("--kill", "kill", kill),
        ("--start", "start", start),
        ("--restart", "restart", restart),
    ]
    deeds = {option: deed for option, deed, names in given if names}
    events = [
        verb.Break(deeds[option], names, of_programs if option in OF_NODES else ())
        for option, names in in_order(ctx.meta[InOrder.WORDS], deeds)
    ]
    if targets != Targets() and not events:
        raise BadInput("there is no event to draw", fix="name one, such as --down LINK")
    lab = attach(lab_name)
    converged = verb.converge(lab, events, duration(timeout, "--timeout"), rule(until))
    found = converged.outcomes
    # What else is printed must not end up in a file that takes the SVG or the JSON.
    words = console(stderr=True) if targets.prints_svg else console()
    print_json(json_of(found)) if as_json else print_outcomes(lab, converged.until, found, words)
    draw(lab, found, targets, console(stderr=True) if as_json else words)
    if any(each.converged_ns is None for each in found):
        raise typer.Exit(1)


@node.command("stop", cls=NamesLabFirst)
def node_stop(
    lab_name: Lab, nodes: NodeNames, programs: Programs = None, as_json: Json = False
) -> None:
    """Freeze nodes: their programs do not run, and nothing that they send arrives."""
    _nodes(lab_name, nodes, "stop", programs, as_json=as_json)


@node.command("kill", cls=NamesLabFirst)
def node_kill(
    lab_name: Lab, nodes: NodeNames, programs: Programs = None, as_json: Json = False
) -> None:
    """Kill nodes: their programs end at once, and their links lose the carrier."""
    _nodes(lab_name, nodes, "kill", programs, as_json=as_json)


@node.command("start", cls=NamesLabFirst)
def node_start(
    lab_name: Lab, nodes: NodeNames, programs: Programs = None, as_json: Json = False
) -> None:
    """Start nodes that were stopped or killed; their links come up, and their programs run."""
    _nodes(lab_name, nodes, "start", programs, as_json=as_json)


@node.command("restart", cls=NamesLabFirst)
def node_restart(
    lab_name: Lab, nodes: NodeNames, programs: Programs = None, as_json: Json = False
) -> None:
    """Kill nodes, and start them again at once."""
    _nodes(lab_name, nodes, "restart", programs, as_json=as_json)


def _nodes(
    lab_name: str, nodes: list[str], do: NodeDeed, programs: list[str] | None, *, as_json: bool
) -> None:
    from delaylab.lab.attach import attach
    from delaylab.verbs import events as verb

    _print(verb.change_nodes(attach(lab_name), nodes, do, programs or []), as_json=as_json)
