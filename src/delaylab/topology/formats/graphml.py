"""Reader of GraphML: the Internet Topology Zoo's files, yEd's drawings, networkx's output.

networkx reads GraphML too, but it stops at the first malformed value, without its line, and refuses
a graph that has directed and undirected edges. Tests hold this reader to its results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from delaylab.errors import BadInput
from delaylab.topology.builder import Builder, Edge
from delaylab.topology.formats.xml import Element, parse
from delaylab.topology.geography import delay_ns, formula, great_circle_km
from delaylab.topology.model import Map, Place
from delaylab.topology.numbers import coordinate, number, scaled
from delaylab.topology.options import Coordinates, Options
from delaylab.topology.remarks import ZERO_DELAY, Oddity
from delaylab.topology.source import Source

NAME = "GraphML"
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


@dataclass
class _Read:
    """A file while it is read."""

    build: Builder
    options: Options
    keys: dict[str, str]
    """Id of a key -> the name of its attribute, in lower case."""
    defaults: dict[str, dict[str, str]]
    places: dict[str, Place] = field(default_factory=dict)


def fits(text: str) -> bool:
    """Return True for GraphML."""
    return "<graphml" in text[:4000]


def read(source: Source, options: Options) -> Map:
    """Read all nodes and edges, also those of graphs inside of nodes."""
    root = parse(source.text, source.name)
    if root.tag != "graphml":
        raise BadInput(
            f"the document is a <{root.tag[:40]}>, not <graphml>", f"{source.name}:{root.line}"
        )
    state = _Read(Builder(source.lab, NAME, source.name), options, {}, {"node": {}, "edge": {}})
    _read_keys(root, state)
    graphs = list(root.all("graph"))
    if len(graphs) > 1:
        state.build.remarks.say(f"the file has {len(graphs)} graphs: they are taken as one")
    nodes = [node for graph in graphs for node in _nodes(graph, state)]
    values = {id(node): _values(node, "node", state) for node in nodes}
    on_earth = _on_earth(values.values(), options)
    for node in nodes:
        _add_node(node, values[id(node)], state, on_earth=on_earth)
    _say_about_places(nodes, state, on_earth=on_earth)
    for graph in graphs:
        _add_edges(graph, state)
    return state.build.finish()


def _read_keys(root: Element, state: _Read) -> None:
    for key in root.all("key"):
        name = key.attributes.get("attr.name", "").lower()
        state.keys[key.attributes.get("id", "")] = name
        default = key.text_of("default")
        if default and name:
            for kind in ("node", "edge"):
                if key.attributes.get("for", "all") in (kind, "all"):
                    state.defaults[kind][name] = default


def _nodes(graph: Element, state: _Read) -> Iterator[Element]:
    for node in graph.all("node"):
        inner = list(node.all("graph"))
        if inner:
            state.build.remarks.count(GROUP, node.line)
            for each in inner:
                yield from _nodes(each, state)
        elif "id" not in node.attributes:
            state.build.remarks.problem(node.line, "a node without an id: left out")
        else:
            yield node


def _values(element: Element, kind: str, state: _Read) -> Values:
    """Return the attributes of a node or an edge by name, those of yEd's drawing among them."""
    found = dict(state.defaults[kind])
    for data in element.all("data"):
        name, text = state.keys.get(data.attributes.get("key", ""), ""), data.text.strip()
        if name and text:
            found[name] = text
        elif kind == "node" and data.children:
            found |= {key: each for key, each in _drawn(data) if key not in found}
    return found


def _drawn(data: Element) -> Iterator[tuple[str, str]]:
    label, geometry = data.below("NodeLabel"), data.below("Geometry")
    if label is not None and label.text.strip():
        yield "label", " ".join(label.text.split())
    if geometry is not None:
        yield from (
            (axis, geometry.attributes[axis]) for axis in "xy" if axis in geometry.attributes
        )


def _first(values: Values, names: tuple[str, ...]) -> str | None:
    return next((values[name] for name in names if name in values), None)


def _on_earth(nodes: Iterator[Values] | object, options: Options) -> bool:
    """Return True if coordinates are degrees: some node has a longitude and a latitude."""
    if options.coordinates is not None:
        return options.coordinates == Coordinates.DEGREES
    assert hasattr(nodes, "__iter__")
    return any(_first(each, LONGITUDE) and _first(each, LATITUDE) for each in nodes)


def _add_node(node: Element, values: Values, state: _Read, *, on_earth: bool) -> None:
    key, label = node.attributes["id"], values.get("label", "")
    at = _place(node, values, state, on_earth=on_earth)
    if at is not None:
        state.places.setdefault(key, at)
    if values.get("internal", "").lower() in ("0", "false"):
        state.build.remarks.count(OUTSIDE, node.line)
    words = ", ".join(filter(None, (label, values.get("country"))))
    state.build.node(key, line=node.line, wanted=label, label=words, at=at)


def _place(node: Element, values: Values, state: _Read, *, on_earth: bool) -> Place | None:
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
    return Place(x, y, on_earth)


def _say_about_places(nodes: list[Element], state: _Read, *, on_earth: bool) -> None:
    remarks = state.build.remarks
    if on_earth:
        remarks.say(formula(state.options.km_delay))
        for node in nodes:
            if node.attributes["id"] not in state.places:
                remarks.count(NO_PLACE, node.line)
    elif state.places:
        remarks.say("positions are those of a drawing: no delays are made of them")


def _add_edges(graph: Element, state: _Read) -> None:
    usual = graph.attributes.get("edgedefault", "undirected") == "directed"
    for edge in graph.all("edge"):
        said = edge.attributes.get("directed")
        directed = usual if said is None else said.lower() in ("true", "1")
        ends = edge.attributes.get("source"), edge.attributes.get("target")
        if ends[0] is None or ends[1] is None:
            state.build.remarks.problem(edge.line, "an edge without source or target: left out")
            continue
        values = _values(edge, "edge", state)
        state.build.edge(
            Edge(
                ends[0],
                ends[1],
                edge.line,
                _delay(edge, values, ends[0], ends[1], state),
                _capacity(edge, values, state),
                _number(edge, values, COST, state),
                directed,
            )
        )
    for edge in graph.all("hyperedge"):
        state.build.remarks.problem(edge.line, "an edge of more than two nodes: left out")
    for node in graph.all("node"):
        for inner in node.all("graph"):
            _add_edges(inner, state)


def _number(edge: Element, values: Values, names: tuple[str, ...], state: _Read) -> Fraction | None:
    text = _first(values, names)
    if text is None:
        return None
    found = number(text)
    if found is None or found < 0:
        name = next(name for name in names if name in values)
        what = f"expected a number as {name}, got {text[:40]!r}: left out"
        state.build.remarks.problem(edge.line, what)
        return None
    return found


def _delay(edge: Element, values: Values, a: str, b: str, state: _Read) -> int | None:
    remarks, options = state.build.remarks, state.options
    said = _number(edge, values, DELAY, state)
    if said is not None:
        remarks.say(f"delays of links are one-way, in {options.delay_unit or 'ms'}")
        return scaled(said, int(options.delay_unit or MILLISECOND))
    km = _number(edge, values, DISTANCE, state)
    if km is not None:
        remarks.say(f"lengths of links are in km, at {options.km_delay} a km one way")
        return scaled(km, options.km_delay.ns)
    ends = state.places.get(a), state.places.get(b)
    if ends[0] is None or ends[1] is None or not ends[0].on_earth:
        return None
    found = delay_ns(great_circle_km(ends[0], ends[1]), options.km_delay)
    if found == 0 and a != b:
        remarks.count(ZERO_DELAY, edge.line)
    return found


def _capacity(edge: Element, values: Values, state: _Read) -> int | None:
    """Return the capacity in bit/s: of the Zoo's `LinkSpeedRaw`, or of a speed and its unit."""
    raw = _number(edge, values, ("linkspeedraw",), state)
    if raw is not None:
        return scaled(raw, 1)
    speed = _number(edge, values, ("linkspeed",), state)
    if speed is not None:
        unit = values.get("linkspeedunits", "").lower().removesuffix("bps").removesuffix("bit")
        factor = PREFIXES.get(unit.strip())
        if factor is None or not unit.strip():
            state.build.remarks.problem(edge.line, "a speed of no known unit: left out")
            return None
        return scaled(speed, factor)
    said = _number(edge, values, CAPACITY, state)
    if said is not None:
        state.build.remarks.say("capacities of links are in Mbit/s")
    return scaled(said, MEGABIT)
