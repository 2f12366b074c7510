"""Generator of docs/cli/VERB.md for every verb, from the command line itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from delaylab.cli import whole
from delaylab.cli.groups import HelpGroup

FOLDER = Path(__file__).parent.parent / "docs" / "cli"
NAMES = """\
Every verb of a running lab takes the lab's name by `--lab NAME` (`-l`); most take it as their first
argument, too. Without a name they take the only lab that is up; but `link set` needs one, and
`fair` starts a lab of its own."""


def pages() -> dict[str, str]:
    """Return the text by file name: one page for every verb, and an index."""
    group = get_command(whole())
    assert isinstance(group, typer.core.TyperGroup)
    made = {}
    rows: dict[str, list[str]] = {each: [] for each in HelpGroup}
    for name, command in commands(group):
        page = f"{name.replace(' ', '-')}.md"
        made[page] = _page(name, command)
        first = (command.help or "").splitlines()[0]
        heading = getattr(group.commands[name.split()[0]], "rich_help_panel", "")
        rows[heading].append(f"| [`delaylab {name}`]({page}) | {first} |")
    tables = (
        "\n".join((f"## {each}", "| verb | |", "|---|---|", *found)) for each, found in rows.items()
    )
    made["README.md"] = "\n\n".join(("# Command line", NAMES, *tables)) + "\n"
    return made


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all commands with their names, as `--help` lists them.

    A group is replaced by its commands.
    """
    for name in group.list_commands(typer.Context(group)):
        command = group.commands[name]
        if isinstance(command, typer.core.TyperGroup):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _page(name: str, command: Any) -> str:
    words = f"delaylab {name}"
    context = typer.Context(command, info_name=words)
    return get_docs_for_click(obj=command, ctx=context, name=words).strip() + "\n"


def main() -> int:
    """Write the pages; with --check, name those that differ and fail."""
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                FOLDER.mkdir(exist_ok=True)
                path.write_text(text)
    for name in stale:
        print(f"docs/cli/{name}", "differs" if "--check" in sys.argv else "written")
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
