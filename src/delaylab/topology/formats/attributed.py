"""Networks whose nodes and edges have attributes with names of their own: GraphML's and GML's.

The Internet Topology Zoo, networkx and yEd write both formats, with the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from delaylab.topology import values
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.geography import delay_ns, formula, great_circle_km
from delaylab.topology.model import Map, Position
from delaylab.topology.numbers import coordinate, doubt, number, scaled
from delaylab.topology.options import Coordinates, Options
from delaylab.topology.remarks import WHOLE, ZERO_DELAY, Oddity

LONGITUDE, LATITUDE = ("longitude", "lon", "lng"), ("latitude", "lat")
DELAY, DISTANCE = ("delay", "latency"), ("dist", "distance", "length")
COST = ("weight", "cost", "metric")
CAPACITY = ("capacity", "bandwidth", "bw", "rate", "datarate", "data_rate")
SPEED = ("linkspeedraw", "linkspeed", "linkspeedunits")
JITTER, MTU = ("jitter", "delay_jitter"), ("mtu",)
LOSS = ("packet_loss", "packetloss", "loss", "loss_rate", "lossrate", "plr")
HYPEREDGE = "hyperedge"
IDENTITY = ("id", "key", "label", "source", "target", "graphics", "name", "x", "y")
OF_NODES = {*LONGITUDE, *LATITUDE, *IDENTITY, "internal", "country", "isgroup", HYPEREDGE}
OF_EDGES = {*DELAY, *DISTANCE, *COST, *CAPACITY, *SPEED, *JITTER, *LOSS, *MTU, *IDENTITY}
MILLISECOND, MEGABIT, TERABIT = 10**6, 10**6, 10**12
PREFIXES = ("k", "m", "g", "t")
OUTSIDE = Oddity(
    "node is outside of the network in the source (Internal is false): kept",
    "nodes are outside of the network in the source (Internal is false): kept",
)
GROUP = Oddity(
    "node is a group of others: its nodes are taken, the group itself is not",
    "nodes are groups of others: their nodes are taken, the groups themselves are not",
)
HUGE = Oddity(
    "link has a capacity of 1 Tbit/s or more, if numbers without a unit are Mbit/s",
    "links have a capacity of 1 Tbit/s or more, if numbers without a unit are Mbit/s",
)
MOST_NAMES = 12
LAN = Oddity("node is a LAN (hyperedge): `join:`", "nodes are LANs (hyperedge): `join:`")
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
class _ReadNetwork:
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
    state = _ReadNetwork(build, options)
    on_earth = _on_earth(nodes, options)
    for node in nodes:
        _add_node(node, state, on_earth=on_earth)
    _say_about_places(nodes, state, on_earth=on_earth)
    unused: dict[str, None] = {}
    for edge in edges:
        _add_edge(edge, state)
        unused |= dict.fromkeys(name for name in edge.values if name not in OF_EDGES)
    _say_what_is_unused("links", unused, state)
    left = (name for node in nodes for name in node.values if name not in OF_NODES)
    _say_what_is_unused("nodes", dict.fromkeys(left), state)
    return build.finish()


def _say_what_is_unused(of: str, names: Iterable[str], state: _ReadNetwork) -> None:
    """Name the attributes that a lab file has no field for."""
    listed = sorted(names)
    if listed:
        shown = ", ".join(name[:40] for name in listed[:MOST_NAMES])
        more = " …" if len(listed) > MOST_NAMES else ""
        state.build.remarks.say(f"attributes of {of} that are not used: {shown}{more}")


def _first(values: Values, names: tuple[str, ...]) -> str | None:
    return next((values[name] for name in names if name in values), None)


def _on_earth(nodes: list[AttributedNode], options: Options) -> bool:
    """Return True if coordinates are degrees: some node has a longitude and a latitude."""
    if options.coordinates is not None:
        return options.coordinates == Coordinates.DEGREES
    return any(_first(each.values, LONGITUDE) and _first(each.values, LATITUDE) for each in nodes)


def _add_node(node: AttributedNode, state: _ReadNetwork, *, on_earth: bool) -> None:
    given, label = node.values, node.values.get("label", "")
    at = _place(node, state, on_earth=on_earth)
    if at is not None:
        state.places.setdefault(node.key, at)
    if given.get("internal", "").lower() in ("0", "false"):
        state.build.remarks.count(OUTSIDE, node.line)
    if given.get(HYPEREDGE, "").lower() in ("1", "true"):
        state.build.lan(node.key, node.line, label)
        state.build.remarks.count(LAN, node.line)
        return
    words = ", ".join(filter(None, (label, given.get("country"))))
    state.build.node(node.key, line=node.line, wanted=label, label=words, at=at)


def _place(node: AttributedNode, state: _ReadNetwork, *, on_earth: bool) -> Position | None:
    said = node.values
    degrees = _first(said, LONGITUDE), _first(said, LATITUDE)
    drawn = said.get("x"), said.get("y")
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


def _say_about_places(nodes: list[AttributedNode], state: _ReadNetwork, *, on_earth: bool) -> None:
    remarks = state.build.remarks
    if on_earth:
        remarks.say(formula(state.options.km_delay))
        for node in nodes:
            if node.key not in state.places and state.build.knows(node.key):
                remarks.count(NO_PLACE, node.line)
    elif state.places:
        remarks.say("positions are those of a drawing: no delays are made of them")


def _add_edge(edge: AttributedEdge, state: _ReadNetwork) -> None:
    unit = int(state.options.delay_unit or MILLISECOND)
    jitter = _value(edge, JITTER, "a time", lambda text: values.duration(text, unit), state)
    loss = _value(edge, LOSS, "a part of 1 or a share such as 1%", values.part, state)
    mtu = _number(edge, MTU, state)
    state.build.edge(
        Edge(
            a=edge.a,
            b=edge.b,
            line=edge.line,
            delay=_delay(edge, state),
            capacity=_capacity(edge, state),
            cost=_number(edge, COST, state),
            directed=edge.directed,
            loss=scaled(loss, WHOLE),
            jitter=scaled(jitter, 1),
            mtu=scaled(mtu, 1),
        )
    )


def _number(edge: AttributedEdge, names: tuple[str, ...], state: _ReadNetwork) -> Fraction | None:
    return _value(edge, names, "a number", number, state)


def _value(
    edge: AttributedEdge,
    names: tuple[str, ...],
    expected: str,
    read: Callable[[str], Fraction | None],
    state: _ReadNetwork,
) -> Fraction | None:
    """Return the first value that the edge has under one of these names; name one that is wrong."""
    text = _first(edge.values, names)
    if text is None:
        return None
    found = read(text)
    if found is None or found < 0:
        name = next(name for name in names if name in edge.values)
        what = f"expected {expected} as {name}, got {text[:40]!r}{doubt(text)}: left out"
        state.build.remarks.problem(edge.line, what)
        return None
    return found


def _delay(edge: AttributedEdge, state: _ReadNetwork) -> int | None:
    remarks, options = state.build.remarks, state.options
    unit = int(options.delay_unit or MILLISECOND)
    said = _value(edge, DELAY, "a time", lambda text: values.duration(text, unit), state)
    if said is not None:
        shown = options.delay_unit or "ms"
        remarks.say(f"delays of links are one-way, in {shown} where they have no unit")
        return scaled(said, 1)
    km = _value(edge, DISTANCE, "a length", values.length, state)
    if km is not None:
        remarks.say(
            "lengths of links are in km where they have no unit, "
            f"at {options.km_delay} a km one way"
        )
        return scaled(km, options.km_delay.ns)
    ends = state.places.get(edge.a), state.places.get(edge.b)
    if ends[0] is None or ends[1] is None or not ends[0].on_earth:
        return None
    found = delay_ns(great_circle_km(ends[0], ends[1]), options.km_delay)
    if found == 0 and edge.a != edge.b:
        remarks.count(ZERO_DELAY, edge.line)
    return found


def _capacity(edge: AttributedEdge, state: _ReadNetwork) -> int | None:
    """Return the capacity in bit/s: of the Zoo's `LinkSpeedRaw`, or of a speed and its unit."""
    raw = _number(edge, ("linkspeedraw",), state)
    if raw is not None:
        return scaled(raw, 1)
    speed = _number(edge, ("linkspeed",), state)
    if speed is not None:
        unit = edge.values.get("linkspeedunits", "").strip()
        unit = f"{unit}bit" if unit.lower() in PREFIXES else unit
        factor = values.rate(f"1{unit}", 0)
        if factor is None:
            state.build.remarks.problem(edge.line, "a speed of no known unit: left out")
            return None
        return scaled(speed * factor, 1)
    said = _value(edge, CAPACITY, "a rate", lambda text: values.rate(text, MEGABIT), state)
    if said is not None:
        state.build.remarks.say("capacities of links are in Mbit/s where they have no unit")
        bare = values.is_bare(_first(edge.values, CAPACITY) or "")
        if bare and said >= TERABIT:
            state.build.remarks.count(HUGE, edge.line)
    return scaled(said, 1)
