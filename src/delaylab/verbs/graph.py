"""Verb `delaylab graph`: a lab as text, or as a picture: SVG, PNG, or a page to look around in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from delaylab.drawing.layout import Graph, graph
from delaylab.drawing.text import lines
from delaylab.errors import BadInput, NotHere
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.resolve.lab import Lab
from delaylab.verbs import kept_places, pictures
from delaylab.verbs.pictures import Targets

if TYPE_CHECKING:
    from delaylab.drawing.picture import Picture, States


def draw(
    lab: Lab,
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
    pictures.write(targets, lambda: drawing.svg(made), lambda: drawing.page(made), console)


def _picture(
    lab: Lab,
    source: Path,
    graph: Graph,
    devices: Mapping[tuple[str, str], str],
    states: States | None,
    *,
    anew: bool,
) -> Picture:
    from delaylab.drawing.picture import picture  # noqa: PLC0415  as above

    kept = {} if anew else kept_places.read(source)
    made = picture(lab, graph, kept, devices, states)
    if made.places and made.places != kept:
        kept_places.write(source, made.places)
    return made


def _states(lab: Lab) -> States:
    """Return the states of the nodes and links of the running lab of this name."""
    from delaylab.drawing.picture import States  # noqa: PLC0415  as above
    from delaylab.lab.attach import attach  # noqa: PLC0415  as above
    from delaylab.lab.description import describe  # noqa: PLC0415  as above
    from delaylab.verbs.link_states import states  # noqa: PLC0415  as above

    running = attach(lab.name)
    nodes = {node.name: node.state for node in describe(running, addresses=False).nodes}
    links = {
        link: why.split(" at ")[0]
        for engine in states(running)
        for link, why in engine.links.items()
        if why != "held"
    }
    return States(nodes, links)


def _devices(lab: Lab) -> dict[tuple[str, str], str]:
    """Return the names of interfaces by node and link; none of a lab that cannot run here."""
    try:
        plan = build(lab, KINDS, LOCAL.rights())
    except (BadInput, NotHere):
        return {}
    return {
        (node, attachment.link): attachment.device
        for node, planned in plan.nodes.items()
        for attachment in planned.attachments
    }
