"""The groups in which `--help` lists the verbs, and their order."""

from __future__ import annotations

import typer
from typer.main import get_command_name

GROUPS = {
    "Labs": ("up", "ps", "down", "plan", "graph"),
    "Inside nodes": ("exec", "shell", "cp", "logs", "record", "replay"),
    "Links, failures and routing": ("link", "node", "converge", "watch"),
    "Measurements": ("ping", "run"),
    "Datasets": ("show", "report", "charts", "compare"),
    "Lab files": ("import", "generate", "place", "schema"),
    "This machine": ("doctor", "fair", "image"),
}
ORDER = {name: at for at, name in enumerate(each for group in GROUPS.values() for each in group)}


def put_into_groups(app: typer.Typer) -> None:
    """Give all verbs of the application their groups and their order."""
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    for command in app.registered_commands:
        command.name = command.name or get_command_name(getattr(command.callback, "__name__", ""))
        command.rich_help_panel = group_of[command.name]
    for verbs in app.registered_groups:
        verbs.rich_help_panel = group_of[str(verbs.name)]
