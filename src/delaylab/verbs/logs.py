"""Verb `delaylab logs`: what the programs of a node printed."""

from __future__ import annotations

import sys

from delaylab.errors import BadInput
from delaylab.io.printable import printable
from delaylab.lab.programs.programs import output, states
from delaylab.lab.running import LiveLab


def logs(lab: LiveLab, node: str, program: str | None) -> None:
    """Print the kept output of a program that runs with a node; without a name, of its only one.

    Raises BadInput if the node has no such program, or several and no name is given.
    """
    found = lab.plan.nodes.get(node)
    if found is None:
        known = ", ".join(lab.plan.nodes)
        raise BadInput(f"lab {lab.name!r} has no node {node!r}", fix=f"there are: {known}")
    started = (each.name for each in states(lab, only=[node]).get(node, []))
    programs = list(dict.fromkeys([*found.programs, *started]))
    names = ", ".join(programs)
    if not programs:
        raise BadInput(f"node {node!r} has no programs", fix="`start:` in the lab file names some")
    if program is None and len(programs) > 1:
        raise BadInput(f"node {node!r} has several programs", fix=f"name one of {names}")
    name = program or programs[0]
    if name not in programs:
        raise BadInput(f"node {node!r} has no program {name!r}", fix=f"there are: {names}")
    _print(output(lab, node, name))


def _print(said: bytes) -> None:
    """Print output as it is into a file or a pipe; in a terminal without what would control it."""
    if sys.stdout.isatty():
        said = printable(said.decode(errors="replace")).encode()
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
