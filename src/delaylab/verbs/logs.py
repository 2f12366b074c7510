"""Verb `delaylab logs`: what the programs of a node printed."""

from __future__ import annotations

import sys

from delaylab.errors import BadInput
from delaylab.lab.programs import output
from delaylab.lab.running import Lab


def logs(lab: Lab, node: str, program: str | None) -> None:
    """Print the kept output of a node's program; without a name, of its only one.

    Raises BadInput if the node has no such program, or several and no name is given.
    """
    found = lab.plan.nodes.get(node)
    if found is None:
        known = ", ".join(lab.plan.nodes)
        raise BadInput(f"lab {lab.name!r} has no node {node!r}", fix=f"there are: {known}")
    if not found.programs:
        raise BadInput(f"node {node!r} has no programs", fix="`start:` in the lab file names some")
    if program is None and len(found.programs) > 1:
        names = ", ".join(found.programs)
        raise BadInput(f"node {node!r} has several programs", fix=f"name one of {names}")
    name = program or found.programs[0]
    if name not in found.programs:
        names = ", ".join(found.programs)
        raise BadInput(f"node {node!r} has no program {name!r}", fix=f"there are: {names}")
    sys.stdout.buffer.write(output(lab, node, name))
    sys.stdout.flush()
