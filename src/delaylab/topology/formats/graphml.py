"""Reader of GraphML: the Internet Topology Zoo's files, yEd's drawings, networkx's output.

networkx reads GraphML too, but it stops at the first malformed value, without its line, and refuses
a graph that has directed and undirected edges. Tests hold this reader to its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from delaylab.errors import BadInput
from delaylab.topology.builder import Builder
from delaylab.topology.formats.attributed import (
    GROUP,
    AttributedEdge,
    AttributedNode,
    Values,
    network,
)
from delaylab.topology.formats.xml import Element, parse
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.remarks import Remarks
from delaylab.topology.source import Source

NAME = "GraphML"


@dataclass
class _ReadFile:
    """A file while it is read."""

    remarks: Remarks
    keys: dict[str, str]
    """Id of a key -> the name of its attribute, in lower case."""
    defaults: dict[str, dict[str, str]]


def fits(text: str) -> bool:
    """Return True for GraphML."""
    return text.lstrip().startswith("<") and "<graphml" in text[:4000]


def read(source: Source, options: Options) -> Map:
    """Read all nodes and edges, also those of graphs inside of nodes."""
    root = parse(source.text, source.name)
    if root.tag != "graphml":
        raise BadInput(
            f"the document is a <{root.tag[:40]}>, not <graphml>", f"{source.name}:{root.line}"
        )
    build = Builder(source.lab, NAME, source.name)
    state = _ReadFile(build.remarks, {}, {"node": {}, "edge": {}})
    _read_keys(root, state)
    graphs = list(root.all("graph"))
    if len(graphs) > 1:
        state.remarks.say(f"the file has {len(graphs)} graphs: they are taken as one")
    nodes = [node for graph in graphs for node in _nodes(graph, state)]
    edges = (edge for graph in graphs for edge in _edges(graph, state))
    return network(build, options, nodes, edges)


def _read_keys(root: Element, state: _ReadFile) -> None:
    for key in root.all("key"):
        name = key.attributes.get("attr.name", "").lower()
        state.keys[key.attributes.get("id", "")] = name
        default = key.text_of("default")
        if default and name:
            for kind in ("node", "edge"):
                if key.attributes.get("for", "all") in (kind, "all"):
                    state.defaults[kind][name] = default


def _nodes(graph: Element, state: _ReadFile) -> Iterator[AttributedNode]:
    for node in graph.all("node"):
        inner = list(node.all("graph"))
        if inner:
            state.remarks.count(GROUP, node.line)
            for each in inner:
                yield from _nodes(each, state)
        elif "id" not in node.attributes:
            state.remarks.problem(node.line, "a node without an id: left out")
        else:
            yield AttributedNode(node.attributes["id"], node.line, _values(node, "node", state))


def _values(element: Element, kind: str, state: _ReadFile) -> Values:
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


def _edges(graph: Element, state: _ReadFile) -> Iterator[AttributedEdge]:
    usual = graph.attributes.get("edgedefault", "undirected") == "directed"
    for edge in graph.all("edge"):
        said = edge.attributes.get("directed")
        directed = usual if said is None else said.lower() in ("true", "1")
        a, b = edge.attributes.get("source"), edge.attributes.get("target")
        if a is None or b is None:
            state.remarks.problem(edge.line, "an edge without source or target: left out")
            continue
        yield AttributedEdge(a, b, edge.line, _values(edge, "edge", state), directed)
    for edge in graph.all("hyperedge"):
        state.remarks.problem(edge.line, "an edge of more than two nodes: left out")
    for node in graph.all("node"):
        for inner in node.all("graph"):
            yield from _edges(inner, state)
