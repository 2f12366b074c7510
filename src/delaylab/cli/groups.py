"""The groups in which `--help` lists the verbs, and their order."""

from __future__ import annotations

from enum import StrEnum

import typer
from typer.main import get_command_name


class HelpGroup(StrEnum):
    """A group's heading, in the order of `--help`; verbs of other packages name theirs."""

    LABS = "Labs"
    INSIDE = "Inside nodes"
    LINKS = "Links, failures and routing"
    MEASUREMENTS = "Measurements"
    DATASETS = "Datasets"
    FILES = "Lab files"
    MACHINE = "This machine"


GROUPS = {
    HelpGroup.LABS: ("up", "ps", "down", "plan", "graph"),
    HelpGroup.INSIDE: ("exec", "shell", "cp", "logs"),
    HelpGroup.LINKS: ("link", "node", "converge", "watch"),
    HelpGroup.MEASUREMENTS: ("ping",),
    HelpGroup.FILES: ("import", "generate", "place", "schema"),
    HelpGroup.MACHINE: ("doctor", "noise", "image"),
}
"""The verbs of the laboratory; those of other packages follow in their groups."""


def put_into_groups(app: typer.Typer) -> None:
    """Give all verbs of the laboratory their groups."""
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    for command in app.registered_commands:
        command.name = command.name or get_command_name(getattr(command.callback, "__name__", ""))
        command.rich_help_panel = group_of[command.name]
    for verbs in app.registered_groups:
        verbs.rich_help_panel = group_of[str(verbs.name)]


def place(name: str, heading: object) -> tuple[int, int]:
    """Return the place of a verb in `--help`: of its group, and within it."""
    headings = list(map(str, HelpGroup))
    names = GROUPS.get(HelpGroup(heading), ()) if heading in headings else ()
    return (
        headings.index(str(heading)) if heading in headings else len(headings),
        names.index(name) if name in names else len(names),
    )
