"""Verbs about what a machine can do, and what a file may say: one function each, without logic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from delaylab.cli.numbers import seconds
from delaylab.cli.options import Json, Sudo, app, console, print_found, print_json
from delaylab.errors import BadInput, NotHere
from delaylab.units import Duration

SHORTEST, LONGEST = Duration.parse("1s"), Duration.parse("1h")
"""The least and the most time of `noise`."""


@app.command()
def doctor(
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Try only this kind; may be repeated.")
    ] = None,
    build: Annotated[
        bool,
        typer.Option(
            "--build",
            help="Build the images that are missing, to try containers and virtual machines, too. "
            "All together take 680 MiB and minutes.",
        ),
    ] = False,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY|FILE|FOLDER",
            help="Say instead which claims of this study the machine can be expected to decide.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Check another machine instead: one that ssh knows by this name, or, with --lab, "
            "one of the lab file.",
        ),
    ] = None,
    lab: Annotated[
        Path | None, typer.Option("--lab", metavar="FILE", help="The lab file for --machine.")
    ] = None,
    sudo: Sudo = False,
    stable: Annotated[
        bool,
        typer.Option(
            "--stable",
            help="Say instead whether this machine is fit to measure: the same trial many times.",
        ),
    ] = False,
    trials: Annotated[
        int, typer.Option("--trials", help="The number of trials of --stable; 4 s each.")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Check which node kinds, taps, work and tools run on this machine; say how to get the rest."""
    from delaylab.verbs.progress_bar import bar

    if lab is not None and machine is None:
        raise BadInput("--lab is for --machine", fix="name a machine of the lab")
    if machine is not None:
        _examine_machine(machine, lab, kind, build=build, sudo=sudo, as_json=as_json)
        return
    if study is not None:
        _examine_study(study, as_json=as_json)
        return
    if stable:
        _examine_stable(kind or ["netns"], trials, as_json=as_json)
        return
    from delaylab.verbs import doctor as verb

    with bar(console(stderr=True)) as progress:
        checks = verb.examine(kind, progress, build_images=build)
    print_found(checks, verb.as_json, verb.print_checks, as_json=as_json)


def _examine_machine(
    name: str, lab: Path | None, kinds: list[str] | None, *, build: bool, sudo: bool, as_json: bool
) -> None:
    from delaylab.verbs import doctor as verb
    from delaylab.verbs.doctor_machine import examine
    from delaylab.verbs.progress_bar import bar

    with bar(console(stderr=True)) as progress:
        checks = examine(name, lab, progress, kinds, build_images=build, sudo=sudo)
    print_found(checks, verb.as_json, verb.print_checks, as_json=as_json)


def _examine_study(name: str, *, as_json: bool) -> None:
    from delaylab.extensions import Additions, load
    from delaylab.extras import INSTALL
    from delaylab.verbs.checks import Forecast

    forecast = load(Additions.FORECASTS, "study")
    if forecast is None:
        raise NotHere("the package of studies is not installed", "--study", INSTALL)
    cast("Forecast", forecast)(name, as_json=as_json)


def _examine_stable(kinds: list[str], trials: int, *, as_json: bool) -> None:
    from delaylab.extensions import Additions, load
    from delaylab.extras import INSTALL
    from delaylab.verbs.checks import NullTrials

    examine = load(Additions.FORECASTS, "stable")
    if examine is None:
        raise NotHere("the package of studies is not installed", "--stable", INSTALL)
    if kinds[1:]:
        raise BadInput("--stable is of one kind", "--kind", "name one")
    if not cast("NullTrials", examine)(kinds[0], trials, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def schema(
    of: Annotated[str, typer.Argument(metavar="lab|study", help="The file format.")],
) -> None:
    """Print the JSON schema of lab or study files, for editors."""
    from delaylab.verbs.schema import schema as verb

    print_json(verb(of))


@app.command()
def noise(
    lasting: Annotated[
        str, typer.Option("--for", "-w", metavar="TIME", help="How long to look, at least 1s.")
    ] = "60s",
    as_json: Json = False,
) -> None:
    """Say whether this machine is quiet enough to measure on, and who disturbs it.

    A thread on each CPU reads the clock without pause, with ordinary scheduling. Each time between
    two readings of 10 µs or more is a hiccup: a packet of a lab could have waited for so long.
    Meanwhile the programs and control groups that took CPU time are recorded, and steal,
    throttling and interrupts. All CPUs are busy for that time, so run it before you measure and not
    while you do.

    A machine is quiet if hiccups take at most 0.1 % of the time of each CPU, and each is
    shorter than 10 ms. The exit code is 0 if it is, and 1 if not. Ctrl-C ends it early, with what
    was seen.
    """
    from delaylab.verbs import noise as verb

    time = seconds(lasting, "--for", LONGEST)
    if time < SHORTEST:
        raise BadInput("--for is at least 1s")
    found = verb.measure(time)
    print_found(found, verb.as_json, verb.print_noise, as_json=as_json)
    if not found.quiet:
        raise typer.Exit(1)
