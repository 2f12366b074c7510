"""Verbs inside of nodes: commands, shells, output of programs, copies; one function per verb."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from delaylab.cli.options import LabOption, NamesLab, WithCommand, app
from delaylab.errors import BadInput
from delaylab.io.terminal import print_error


@app.command("exec", cls=WithCommand, context_settings={"ignore_unknown_options": True})
def execute(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[NODE] -- COMMAND …",
            help="A node, a host, or `wire`, and the command to run there; with --all the command "
            "alone.",
        ),
    ],
    lab_name: LabOption = None,
    everywhere: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Run it in every node at once, without input. Each line that it prints has the "
            "node's name before it; the exit code is 1 if it failed in one.",
        ),
    ] = False,
) -> None:
    """Run a command in a node, `delaylab exec NODE -- COMMAND …`, and exit with its exit code.

    Its input is the command's: `delaylab exec NODE -- sh < script` runs a script of this machine.
    With --all it runs in every node: `delaylab exec --all -- COMMAND …`.
    """
    from delaylab.lab.attach import attach
    from delaylab.verbs import execute as verb

    if everywhere:
        from delaylab.verbs import execute_all

        failed = execute_all.run(attach(lab_name), words)
        for node, why in failed.items():
            print_error(f"delaylab: failed in node {node}: {why}")
        raise typer.Exit(1 if failed else 0)
    node, *command = words
    if not command:
        raise BadInput("no command is given", f"node {node}", f"delaylab exec {node} -- COMMAND …")
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    raise typer.Exit(verb.run(attach(lab_name), node, command, terminal=terminal))


@app.command(cls=NamesLab)
def cp(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[LAB] FROM TO",
            help="The lab, not needed if only one is up, and two places. One of them is "
            "`NODE:PATH`, with the path from / on; the other is a path of this machine.",
        ),
    ],
) -> None:
    """Copy a file or a folder from a node, `cp [LAB] NODE:PATH DEST`, or to it, `SRC NODE:PATH`.

    If the target is a folder, the copy goes into it. Owners are not copied, and links in a folder
    stay links; one that leads out of a folder from a node is left out, as is a file in it that
    cannot be read. What was left out is printed, and the exit code is then 1.

    Holes are not sent, and stay holes. A file that changes meanwhile is copied as it was read, no
    further than its first size. Files of /proc and /sys have their content.
    """
    from delaylab.lab.attach import attach
    from delaylab.verbs import copy as verb

    given = verb.Words.of(words)
    left_out = verb.copy(attach(given.lab), given.source, given.target)
    for each in left_out:
        print_error(f"delaylab: left out: {each}")
    if left_out:
        raise typer.Exit(1)


@app.command()
def logs(
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node.")],
    program: Annotated[
        str | None,
        typer.Argument(metavar="[PROGRAM]", help="One of its programs; not needed if it has one."),
    ] = None,
    lab_name: LabOption = None,
) -> None:
    """Print what a program of a node printed, one that its `start:` names."""
    from delaylab.lab.attach import attach
    from delaylab.verbs import logs as verb

    verb.logs(attach(lab_name), node, program)


@app.command()
def shell(
    node: Annotated[str, typer.Argument(metavar="NODE", help="A node, a host, or `wire`.")],
    lab_name: LabOption = None,
) -> None:
    """Open a shell in a node."""
    import os

    from delaylab.lab.attach import attach
    from delaylab.verbs import execute as verb

    attached = attach(lab_name)
    # A node with a root file system of its own need not have the user's shell.
    argv = ["/bin/sh"] if attached.has_own_root(node) else [os.environ.get("SHELL", "/bin/sh")]
    raise typer.Exit(verb.run(attached, node, argv, terminal=sys.stdin.isatty()))
