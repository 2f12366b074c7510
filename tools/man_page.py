"""Generator of man/delaylab.1, from the command line itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from delaylab.cli import whole
from delaylab.version import VERSION
from tools.cli_pages import commands

PAGE = Path(__file__).parent.parent / "man" / "delaylab.1"
ENDS = {
    "0": "The verb did what it was asked to.",
    "1": "It failed, or a trial did. The reason is one line on standard error.",
    "2": "An argument or a file is wrong.",
    "3": "This machine, or the user's rights, do not allow it.",
    "130": "Ctrl-C ended the verb.",
}


def page() -> str:
    """Return the page: every verb with its arguments and options, in the order of `--help`."""
    group = get_command(whole())
    assert isinstance(group, typer.core.TyperGroup)
    lines = [
        f'.TH DELAYLAB 1 "" "delaylab {VERSION}" "User Commands"',
        *(".SH NAME", "delaylab \\- a laboratory for packet delay"),
        *(
            ".SH SYNOPSIS",
            ".B delaylab",
            "\\fIVERB\\fR [\\fIARGUMENT\\fR ...] [\\fIOPTION\\fR ...]",
        ),
        *(".SH DESCRIPTION", text(group.help or "")),
        *(".SH OPTIONS", *_parameters(group)),
        ".SH VERBS",
    ]
    for name, command in commands(group):
        lines += _verb(name, command)
    lines.append(".SH EXIT STATUS")
    for code, meaning in ENDS.items():
        lines += [".TP", f"\\fB{code}\\fR", meaning]
    return "\n".join(lines) + "\n"


def text(plain: str) -> str:
    """Return a text as roff: what stands in backticks is bold, nothing is taken for a request."""
    found = plain.replace("\\", "\\e").replace("-", "\\-")
    found = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", found)
    found = "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in found)
    paragraphs = [" ".join(each.split()) for each in found.split("\n\n")]
    return "\n.PP\n".join(f"\\&{each}" if each[:1] in (".", "'") else each for each in paragraphs)


def _verb(name: str, command: Any) -> list[str]:
    context = typer.Context(command, info_name=f"delaylab {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    called = f"\\fBdelaylab {text(name)}\\fR {text(usage)}".rstrip()
    return [f'.SS "{name}"', called, ".PP", text(command.help or ""), *_parameters(command)]


def _parameters(command: Any) -> list[str]:
    context = typer.Context(command, info_name="delaylab")
    lines = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        head, meaning = record
        lines += [".TP", f"\\fB{text(head)}\\fR", text(meaning) or "\\&"]
    return lines


def main() -> int:
    """Write the page; with --check, fail if it differs."""
    if PAGE.exists() and PAGE.read_text() == page():
        return 0
    if "--check" in sys.argv:
        print(f"{PAGE.name} differs")
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
    print(f"{PAGE.name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
