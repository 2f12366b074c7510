"""Verb `delaylab graph`."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from delaylab.drawing.layout import graph
from delaylab.drawing.svg import svg
from delaylab.drawing.text import lines
from delaylab.errors import BadInput, NotHere
from delaylab.io.files import write_text
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.spec.lab import LabSpec


def draw(lab: LabSpec, console: Console, target: Path | None) -> None:
    """Print the graph of a lab, or write it to a file as SVG; `-` prints the SVG."""
    found = graph(lab, _devices(lab))
    if target is None:
        for line in lines(found, console.width):
            console.print(line, soft_wrap=True)
    elif str(target) == "-":
        sys.stdout.write(svg(found))
    else:
        write_text(target, svg(found))
        console.print(str(target), soft_wrap=True)


def _devices(lab: LabSpec) -> dict[tuple[str, str], str]:
    """Return the names of interfaces by node and link; none of a lab that cannot run here."""
    try:
        plan = build(lab, KINDS, LOCAL.rights())
    except (BadInput, NotHere):
        return {}
    return {
        (node, each.link): each.device
        for node, planned in plan.nodes.items()
        for each in planned.attachments
    }
