"""Networks whose nodes and edges have attributes with names of their own: GraphML's and GML's.

The Internet Topology Zoo, networkx and yEd write both formats, with the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from delaylab.topology.builder import Builder, Edge
from delaylab.topology.geography import delay_ns, formula, great_circle_km
from delaylab.topology.model import Map, Position
from delaylab.topology.numbers import coordinate, number, scaled
from delaylab.topology.options import Coordinates, Options
from delaylab.topology.remarks import ZERO_DELAY, Oddity

LONGITUDE, LATITUDE = ("longitude", "lon", "lng"), ("latitude", "lat")
DELAY, DISTANCE = ("delay", "latency"), ("dist", "distance", "length")
COST, CAPACITY = ("weight", "cost", "metric"), ("capacity", "bandwidth")
PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
MILLISECOND, MEGABIT = 10**6, 10**6
OUTSIDE = Oddity(
    "node is outside of the network in the source (Internal is false): kept",
    "nodes are outside of the network in the source (Internal is false): kept",
)
GROUP = Oddity(
    "node is a group of others: its nodes are taken, the group itself is not",
    "nodes are groups of others: their nodes are taken, the groups themselves are not",
)
NO_PLACE = Oddity("node has no coordinates", "nodes have no coordinates")
Values = Mapping[str, str]
"""Attributes by their names in lower case. Empty ones are left out."""


@dataclass(frozen=True, slots=True)
class AttributedNode:
    """A node of the source."""

    key: str
    line: int
    values: Values


@dataclass(frozen=True, slots=True)
class AttributedEdge:
    """An edge of the source."""

    a: str
    b: str
    line: int
    values: Values
    directed: bool


@dataclass
class _Read:
    """A network while its attributes are read."""

    build: Builder
    options: Options
    places: dict[str, Position] = field(default_factory=dict)


def network(
    build: Builder,
    options: Options,
    nodes: list[AttributedNode],
    edges: Iterable[AttributedEdge],
) -> Map:
    """Return the map of these nodes and edges."""
    state = _Read(build, options)
    on_earth = _on_earth(nodes, options)
    for node in nodes:
        _add_node(node, state, on_earth=on_earth)
    _say_about_places(nodes, state, on_earth=on_earth)
    for edge in edges:
        _add_edge(edge, state)
    return build.finish()


def _first(values: Values, names: tuple[str, ...]) -> str | None:
    return next((values[name] for name in names if name in values), None)


def _on_earth(nodes: list[AttributedNode], options: Options) -> bool:
    """Return True if coordinates are degrees: some node has a longitude and a latitude."""
    if options.coordinates is not None:
        return options.coordinates == Coordinates.DEGREES
    return any(_first(each.values, LONGITUDE) and _first(each.values, LATITUDE) for each in nodes)


def _add_node(node: AttributedNode, state: _Read, *, on_earth: bool) -> None:
    values, label = node.values, node.values.get("label", "")
    at = _place(node, state, on_earth=on_earth)
    if at is not None:
        state.places.setdefault(node.key, at)
    if values.get("internal", "").lower() in ("0", "false"):
        state.build.remarks.count(OUTSIDE, node.line)
    words = ", ".join(filter(None, (label, values.get("country"))))
    state.build.node(node.key, line=node.line, wanted=label, label=words, at=at)


def _place(node: AttributedNode, state: _Read, *, on_earth: bool) -> Position | None:
    values = node.values
    degrees = _first(values, LONGITUDE), _first(values, LATITUDE)
    drawn = values.get("x"), values.get("y")
    asked = state.options.coordinates is not None
    given = degrees if None not in degrees and (on_earth or asked) else drawn
    if None in given or (on_earth and given is drawn and not asked):
        return None
    x, y = (coordinate(str(text)) for text in given)
    if x is None or y is None or (on_earth and (abs(x) > 180 or abs(y) > 90)):
        shown = ", ".join(str(text)[:20] for text in given)
        state.build.remarks.problem(node.line, f"no coordinates: {shown!r}; the node has no place")
        return None
    return Position(x, y, on_earth)


def _say_about_places(nodes: list[AttributedNode], state: _Read, *, on_earth: bool) -> None:
    remarks = state.build.remarks
    if on_earth:
        remarks.say(formula(state.options.km_delay))
        for node in nodes:
            if node.key not in state.places:
                remarks.count(NO_PLACE, node.line)
    elif state.places:
        remarks.say("positions are those of a drawing: no delays are made of them")


def _add_edge(edge: AttributedEdge, state: _Read) -> None:
    delay, capacity = _delay(edge, state), _capacity(edge, state)
    cost = _number(edge, COST, state)
    state.build.edge(Edge(edge.a, edge.b, edge.line, delay, capacity, cost, edge.directed))


def _number(edge: AttributedEdge, names: tuple[str, ...], state: _Read) -> Fraction | None:
    text = _first(edge.values, names)
    if text is None:
        return None
    found = number(text)
    if found is None or found < 0:
        name = next(name for name in names if name in edge.values)
        what = f"expected a number as {name}, got {text[:40]!r}: left out"
        state.build.remarks.problem(edge.line, what)
        return None
    return found


def _delay(edge: AttributedEdge, state: _Read) -> int | None:
    remarks, options = state.build.remarks, state.options
    said = _number(edge, DELAY, state)
    if said is not None:
        remarks.say(f"delays of links are one-way, in {options.delay_unit or 'ms'}")
        return scaled(said, int(options.delay_unit or MILLISECOND))
    km = _number(edge, DISTANCE, state)
    if km is not None:
        remarks.say(f"lengths of links are in km, at {options.km_delay} a km one way")
        return scaled(km, options.km_delay.ns)
    ends = state.places.get(edge.a), state.places.get(edge.b)
    if ends[0] is None or ends[1] is None or not ends[0].on_earth:
        return None
    found = delay_ns(great_circle_km(ends[0], ends[1]), options.km_delay)
    if found == 0 and edge.a != edge.b:
        remarks.count(ZERO_DELAY, edge.line)
    return found


def _capacity(edge: AttributedEdge, state: _Read) -> int | None:
    """Return the capacity in bit/s: of the Zoo's `LinkSpeedRaw`, or of a speed and its unit."""
    raw = _number(edge, ("linkspeedraw",), state)
    if raw is not None:
        return scaled(raw, 1)
    speed = _number(edge, ("linkspeed",), state)
    if speed is not None:
        unit = edge.values.get("linkspeedunits", "").lower()
        unit = unit.removesuffix("bps").removesuffix("bit").strip()
        factor = PREFIXES.get(unit)
        if factor is None or not unit:
            state.build.remarks.problem(edge.line, "a speed of no known unit: left out")
            return None
        return scaled(speed, factor)
    said = _number(edge, CAPACITY, state)
    if said is not None:
        state.build.remarks.say("capacities of links are in Mbit/s")
    return scaled(said, MEGABIT)
