"""Readers of SNDlib's networks, in XML and in the native format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from delaylab.errors import BadInput
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.formats.gtitm import in_both_directions
from delaylab.topology.formats.xml import Element, parse
from delaylab.topology.geography import delay_ns, formula, great_circle_km
from delaylab.topology.model import Map, Position
from delaylab.topology.numbers import coordinate, number, scaled
from delaylab.topology.options import Coordinates, Options
from delaylab.topology.remarks import ZERO_DELAY, Remarks
from delaylab.topology.source import Source
from delaylab.topology.values import rate

NAME = "SNDlib"
NATIVE = "?SNDlib native format"
MEGABIT = 10**6
SECTION = re.compile(r"(?P<name>[A-Z_-]+)\s*\(\s*")
NODE = re.compile(r"(?P<id>[^\s()]+)\s*\(\s*(?P<x>[^\s()]+)\s+(?P<y>[^\s()]+)\s*\)")
LINK = re.compile(
    r"(?P<id>[^\s()]+)\s*\(\s*(?P<a>[^\s()]+)\s+(?P<b>[^\s()]+)\s*\)\s*(?P<capacity>[^\s()]+)\s+"
    r"[^\s()]+\s+(?P<routing>[^\s()]+)\s+[^\s()]+\s*\(\s*(?P<modules>[^()]*)\)"
)


@dataclass(frozen=True, slots=True)
class _Node:
    id: str
    x: str
    y: str
    line: int


@dataclass(frozen=True, slots=True)
class _Link:
    a: str
    b: str
    capacities: tuple[str, ...]
    """That which is installed, then those of the modules that can be added."""
    routing: str
    line: int


@dataclass
class _Network:
    nodes: list[_Node]
    links: list[_Link]
    demands: int = 0
    degrees: bool | None = None


def fits_xml(text: str) -> bool:
    """Return True for an XML network."""
    return text.lstrip().startswith("<") and "<network" in text[:4000]


def fits_native(text: str) -> bool:
    """Return True for the native format."""
    return text.lstrip().startswith(NATIVE)


def read_xml(source: Source, options: Options) -> Map:
    """Read an XML network."""
    root = parse(source.text, source.name)
    structure = root.find("networkStructure")
    if root.tag != "network" or structure is None:
        what = "expected <network> with <networkStructure>"
        raise BadInput(what, f"{source.name}:{root.line}")
    nodes, links = structure.find("nodes"), structure.find("links")
    said = "" if nodes is None else nodes.attributes.get("coordinatesType", "")
    demands = root.find("demands")
    network = _Network(
        [] if nodes is None else list(map(_xml_node, nodes.all("node"))),
        [] if links is None else list(map(_xml_link, links.all("link"))),
        0 if demands is None else len(demands.children),
        {"geographical": True, "pixel": False}.get(said),
    )
    return _map(network, source, options, Remarks())


def _xml_node(node: Element) -> _Node:
    at = node.find("coordinates")
    x, y = ("", "") if at is None else (at.text_of("x"), at.text_of("y"))
    return _Node(node.attributes.get("id", ""), x, y, node.line)


def _xml_link(link: Element) -> _Link:
    installed, added = link.find("preInstalledModule"), link.find("additionalModules")
    modules = [] if added is None else [each.text_of("capacity") for each in added.children]
    first = "" if installed is None else installed.text_of("capacity")
    ends = link.text_of("source"), link.text_of("target")
    return _Link(*ends, (first, *modules), link.text_of("routingCost"), link.line)


def read_native(source: Source, options: Options) -> Map:
    """Read a network in the native format."""
    network, remarks = _Network([], []), Remarks()
    section = ""
    for line, text in _lines(source):
        head = SECTION.fullmatch(text)
        if head and not section:
            section = head["name"]
        elif text == ")":
            section = ""
        elif section == "NODES":
            found = NODE.fullmatch(text)
            if found is None:
                remarks.problem(line, f"expected `node ( x y )`, got {text[:40]!r}")
            else:
                network.nodes.append(_Node(found["id"], found["x"], found["y"], line))
        elif section == "LINKS":
            link = LINK.fullmatch(text)
            if link is None:
                remarks.problem(line, f"expected `link ( a b ) … ( … )`, got {text[:40]!r}")
            else:
                capacities = (link["capacity"], *link["modules"].split()[::2])
                ends = link["a"], link["b"]
                network.links.append(_Link(*ends, capacities, link["routing"], line))
        elif section == "DEMANDS":
            network.demands += 1
    return _map(network, source, options, remarks)


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    for count, line in enumerate(source.lines(), start=1):
        plain = line.partition("#")[0].strip()
        if plain and not plain.startswith("?"):
            yield count, plain


def _map(network: _Network, source: Source, options: Options, remarks: Remarks) -> Map:
    build = Builder(source.lab, NAME, source.name, remarks)
    places: dict[str, Position] = {}
    on_earth = _on_earth(network, options, remarks)
    for node in network.nodes:
        if not node.id:
            remarks.problem(node.line, "a node without an id: left out")
            continue
        x, y = coordinate(node.x), coordinate(node.y)
        if x is None or y is None:
            remarks.problem(node.line, f"no coordinates: {node.x[:20]!r}, {node.y[:20]!r}")
        else:
            places[node.id] = Position(x, y, on_earth)
        build.node(node.id, line=node.line, label=node.id, at=places.get(node.id))
    for edge in in_both_directions(
        [_edge(link, places, options, remarks) for link in network.links]
    ):
        build.edge(edge)
    if any(any(rate(text, MEGABIT) for text in link.capacities) for link in network.links):
        remarks.say(
            "capacities are taken for Mbit/s; where none is installed, the largest module counts"
        )
    if network.demands:
        remarks.say(f"traffic demands ({network.demands}) have no place in a lab file: left out")
    return build.finish()


def _on_earth(network: _Network, options: Options, remarks: Remarks) -> bool:
    if options.coordinates is not None:
        found = options.coordinates == Coordinates.DEGREES
    elif network.degrees is not None:
        found = network.degrees
    else:
        found = all(map(_in_degrees, network.nodes))
        said = "degrees, longitude first" if found else "those of a plane"
        remarks.say(f"the file does not say what coordinates are: taken for {said} (--coordinates)")
    if found:
        remarks.say(formula(options.km_delay))
    return found


def _in_degrees(node: _Node) -> bool:
    x, y = coordinate(node.x), coordinate(node.y)
    return x is None or y is None or (abs(x) <= 180 and abs(y) <= 90)


def _positive(text: str) -> Fraction | None:
    found = number(text)
    return found if found is not None and found > 0 else None


def _edge(link: _Link, places: dict[str, Position], options: Options, remarks: Remarks) -> Edge:
    ends = places.get(link.a), places.get(link.b)
    delay = None
    if ends[0] is not None and ends[1] is not None and ends[0].on_earth:
        delay = delay_ns(great_circle_km(ends[0], ends[1]), options.km_delay)
        if delay == 0 and link.a != link.b:
            remarks.count(ZERO_DELAY, link.line)
    installed, *modules = (rate(text, MEGABIT) for text in link.capacities)
    capacity = installed or max(filter(None, modules), default=None)
    return Edge(
        a=link.a,
        b=link.b,
        line=link.line,
        delay=delay,
        capacity=scaled(capacity, 1),
        cost=_positive(link.routing),
    )
