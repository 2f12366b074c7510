"""Verb `fair`, without logic."""

from __future__ import annotations

from typing import Annotated

import typer

from delaylab.api.command_line import HelpGroup, Json, NamesLab, app, console, print_found
from delaylab.api.errors import BadInput


@app.command(cls=NamesLab, rich_help_panel=HelpGroup.MACHINE)
def fair(
    lab_name: Annotated[
        str | None,
        typer.Argument(metavar="[LAB]", help="A running lab; else one of its own is started."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="The kind of the nodes, without LAB: netns (the default), lxc, docker, qemu, …"
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            help="The number of nodes, without LAB; left out, two for each CPU, 64 at most."
        ),
    ] = None,
    work: Annotated[
        list[str] | None,
        typer.Option(
            "--work",
            help="Only this work: cpu, memory, calls, processes, wake-ups or network; may be "
            "repeated.",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=2, max=1000, help="How often each work is done; 19 s a round.")
    ] = 4,
    as_json: Json = False,
) -> None:
    """Check if this machine is fair to its nodes: all do the same short works at once."""
    from delaylab.api.terminal import bar
    from delaylab_study.verbs import fair as verb

    if lab_name is not None and (kind is not None or nodes is not None):
        raise BadInput("LAB has its own nodes", fix="leave out --kind and --nodes")
    works = verb.works_of(work or [])
    with (
        bar(console(stderr=True)) as progress,
        verb.chosen(lab_name, kind, nodes, progress) as lab,
    ):
        found = verb.examine(lab, works, rounds, progress)
    print_found(found, verb.as_json, verb.print_fair, as_json=as_json)
