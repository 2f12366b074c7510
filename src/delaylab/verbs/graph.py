"""Verb `delaylab graph`: a lab as text, or as a picture: SVG, PNG, or a page to look around in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from delaylab.drawing.layout import Graph, graph
from delaylab.drawing.text import lines
from delaylab.errors import BadInput, DelaylabError, NotHere
from delaylab.io.files import write_new, write_text
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.spec.lab import LabSpec
from delaylab.verbs import kept_places

if TYPE_CHECKING:
    from delaylab.drawing.picture import Picture, States

SCALE = 2.0
"""The pixels of a PNG for each of the drawing."""
LARGEST_PNG = 12_000
"""The largest width or height of a PNG in pixels; a larger drawing is made smaller."""
STDOUT = "-"


@dataclass(frozen=True)
class Targets:
    """The files that a drawing is written to, by form; without any it is printed as text."""

    svg: Path | None = None
    png: Path | None = None
    html: Path | None = None


def draw(
    lab: LabSpec,
    source: Path,
    console: Console,
    targets: Targets,
    *,
    running: bool = False,
    anew: bool = False,
) -> None:
    """Print the graph of a lab, or write it to files; `-` prints the SVG.

    With `running`, nodes and links have the colours of their state in the lab of this name. Places
    are kept for the next drawing of `source`; with `anew` earlier ones do not count.
    """
    devices = _devices(lab)
    found = graph(lab, devices)
    if targets == Targets():
        if running:
            raise BadInput("--running colours a picture: say --svg, --png or --html, too")
        for line in lines(found, console.width):
            console.print(line, soft_wrap=True)
        return
    from delaylab.drawing import svg as drawing  # noqa: PLC0415  numpy and scipy are slow to import

    made = _picture(lab, source, found, devices, _states(lab) if running else None, anew=anew)
    if targets.svg is not None and str(targets.svg) == STDOUT:
        sys.stdout.write(drawing.svg(made))
    forms: tuple[tuple[Path | None, Callable[[Path], None]], ...] = (
        (targets.svg, lambda place: write_text(place, drawing.svg(made))),
        (targets.png, lambda place: _write_png(place, drawing.svg(made))),
        (targets.html, lambda place: write_text(place, drawing.page(made))),
    )
    for place, write in forms:
        if place is not None and str(place) != STDOUT:
            write(place)
            console.print(str(place), soft_wrap=True)


def _picture(
    lab: LabSpec,
    source: Path,
    found: Graph,
    devices: Mapping[tuple[str, str], str],
    states: States | None,
    *,
    anew: bool,
) -> Picture:
    from delaylab.drawing.picture import picture  # noqa: PLC0415  as above

    kept = {} if anew else kept_places.read(source)
    made = picture(lab, found, kept, devices, states)
    if made.places and made.places != kept:
        kept_places.write(source, made.places)
    return made


def _write_png(place: Path, text: str) -> None:
    from xml.etree import ElementTree  # noqa: PLC0415  as above

    import vl_convert  # noqa: PLC0415  as above

    head = ElementTree.fromstring(text)
    largest = max(float(head.get(side, "1")) for side in ("width", "height"))
    image = vl_convert.svg_to_png(text, scale=min(SCALE, LARGEST_PNG / largest))
    try:
        write_new(place, image)
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(place)) from error


def _states(lab: LabSpec) -> States:
    """Return the states of the nodes and links of the running lab of this name."""
    from delaylab.drawing.picture import States  # noqa: PLC0415  as above
    from delaylab.lab.attach import attach  # noqa: PLC0415  as above
    from delaylab.lab.description import describe  # noqa: PLC0415  as above
    from delaylab.verbs.link_states import states  # noqa: PLC0415  as above

    running = attach(lab.lab)
    nodes = {node.name: node.state for node in describe(running).nodes}
    links = {
        link: why.split(" at ")[0]
        for engine in states(running)
        for link, why in engine.links.items()
        if why != "held"
    }
    return States(nodes, links)


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
