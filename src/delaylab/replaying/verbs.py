"""Verbs `record` and `replay`, which importing this module adds to the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from delaylab.cli.groups import HelpGroup
from delaylab.cli.numbers import duration, whole
from delaylab.cli.options import Json, NamesLab, app, console, print_found, print_json
from delaylab.errors import BadInput

MOST_CALLS = 10**12


@app.command(cls=NamesLab, rich_help_panel=HelpGroup.INSIDE)
def record(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[LAB] NODE",
            help="The lab, not needed if only one is up, and a node with a program.",
        ),
    ],
    program: Annotated[
        str | None,
        typer.Option(
            metavar="PROGRAM", help="One of its programs, such as bird; not needed if it has one."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="The folder for the recording; if left out, `LAB-NODE-PROGRAM.recording`.",
        ),
    ] = None,
    length: Annotated[
        str | None,
        typer.Option(
            "--duration", metavar="DURATION", help="The time to record; if left out, until Ctrl-C."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Record all that a program of a node gets and gives, so that `replay` runs it again.

    The program is restarted with a library that records its calls. When the recording ends, it is
    restarted without it; if it died, it stays dead.
    """
    from delaylab.lab.attach import attach
    from delaylab.replaying import record as verb

    *labs, node = words
    if len(labs) > 1:
        raise BadInput(f"{len(words)} words are given", fix="delaylab record [LAB] NODE")
    time = None if length is None else duration(length, "--duration")
    folder = verb.record(attach(labs[0] if labs else None), node, program, out, time)
    print_found(folder, verb.as_json, verb.print_recording, as_json=as_json)


@app.command(context_settings={"ignore_unknown_options": True}, rich_help_panel=HelpGroup.INSIDE)
def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a recording.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTION …]", help="With --gdb: more options for gdb."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="N", help="Stop before this call, counted from 1."),
    ] = None,
    gdb: Annotated[
        bool, typer.Option("--gdb", help="Run it in gdb, which stops where it differs, and at N.")
    ] = False,
    calls: Annotated[
        bool,
        typer.Option(
            "--calls",
            help="Run nothing, but print each recorded call: its number, thread, name, descriptor "
            "and result, and how many bytes were given and got.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a recorded program again, without its lab and network, and compare what it does.

    All that it gets comes from the recording. What it gives (packets, routes, files) goes nowhere:
    it is compared with what was recorded. The exit code is 1 at the first difference.
    """
    from delaylab.replaying import replay as verb

    number = None if until is None else whole(until, "--until", 1, MOST_CALLS)
    if words and not gdb:
        raise BadInput(f"{words[0]!r} is not an option of replay", fix="options of gdb need --gdb")
    if calls:
        raise typer.Exit(verb.list_calls(folder))
    if gdb:
        raise typer.Exit(verb.debug(folder, number, words or []))
    done = verb.replay(folder, number)
    if as_json:
        print_json(
            {
                "how": done.how,
                "calls": done.calls,
                "outputs": done.outputs,
                "end": done.text,
                "not_recorded": list(done.unseen),
                "cut": done.cut,
            }
        )
    else:
        text = f"{done.how}: {done.calls} calls, {done.outputs} outputs; {done.text}{done.covers}"
        console().print(text, soft_wrap=True, markup=False, highlight=False)
    if done.how == "differs":
        raise typer.Exit(1)
