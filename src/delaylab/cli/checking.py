"""Verbs about what a machine can do, and what a file may say: one function each, without logic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from delaylab.cli.options import Json, Sudo, app, console, print_found, print_json
from delaylab.errors import BadInput, NotHere


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


@app.command()
def schema(
    of: Annotated[str, typer.Argument(metavar="lab|study", help="The file format.")],
) -> None:
    """Print the JSON schema of lab or study files, for editors."""
    from delaylab.verbs.schema import schema as verb

    print_json(verb(of))
