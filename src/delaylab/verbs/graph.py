"""Verb `delaylab graph`."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from delaylab.drawing.layout import graph
from delaylab.drawing.svg import svg
from delaylab.drawing.text import lines
from delaylab.io.files import write_text
from delaylab.spec.lab import LabSpec


def draw(lab: LabSpec, console: Console, target: Path | None) -> None:
    """Print the graph of a lab, or write it to a file as SVG; `-` prints the SVG."""
    found = graph(lab)
    if target is None:
        for line in lines(found, console.width):
            console.print(line, soft_wrap=True)
    elif str(target) == "-":
        sys.stdout.write(svg(found))
    else:
        write_text(target, svg(found))
        console.print(str(target), soft_wrap=True)
