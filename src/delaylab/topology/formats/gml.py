"""Reader of GML: the Internet Topology Zoo's second format, yEd's, networkx's output.

networkx reads GML too, but it knows no line of a node or an edge, and refuses a file in which two
nodes have one label or two links join the same nodes, as many of the Zoo's have. Tests hold this
reader to its results. Syntax: M. Himsolt, *GML: A portable graph file format*, University of
Passau, 1997.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from delaylab.errors import BadInput
from delaylab.topology.builder import Builder
from delaylab.topology.formats.attributed import (
    GROUP,
    AttributedEdge,
    AttributedNode,
    Values,
    network,
)
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.remarks import Remarks
from delaylab.topology.source import Source

NAME = "GML"
MOST_DEPTH = 50
MOST_ENTRIES = 250_000
FIRST = re.compile(r"""(?:\s|\#[^\n]*\n|[A-Za-z]\w*\s+(?:"[^"]*"|[-+.\w]+)\s)*graph\s*\[""")
"""The beginning of a file: comments and single values such as `Creator`, then a graph."""
BETWEEN = re.compile(r"(?:\s+|\#[^\n]*)+")
KEY = re.compile(r"[A-Za-z_]\w*")
LONG_ENTITY = re.compile(r"&#([xX]?[0-9A-Fa-f]{9,})")
"""An entity past all characters, which Python may refuse to read as a number."""
VALUE = re.compile(r'"(?P<string>[^"]*)"|(?P<number>[-+.\w]+)|(?P<list>\[)')


@dataclass(slots=True)
class Entry:
    """A key with its value: a text, or a list of entries."""

    key: str
    """The key in lower case."""
    line: int
    text: str = ""
    entries: list[Entry] = field(default_factory=list)

    def all(self, key: str) -> Iterator[Entry]:
        """Yield the entries of the list that have this key."""
        return (entry for entry in self.entries if entry.key == key)

    def text_of(self, key: str) -> str:
        """Return the text of the first entry of the list with this key; "" if there is none."""
        return next((entry.text for entry in self.all(key)), "")


def fits(text: str) -> bool:
    """Return True for GML."""
    return FIRST.match(text[:4000]) is not None


def read(source: Source, options: Options) -> Map:
    """Read all nodes and edges, also those of graphs inside of nodes."""
    graphs = list(parse(source).all("graph"))
    build = Builder(source.lab, NAME, source.name)
    remarks = build.remarks
    if len(graphs) > 1:
        remarks.say(f"the file has {len(graphs)} graphs: they are taken as one")
    nodes = [node for graph in graphs for node in _nodes(graph, remarks)]
    edges = (edge for graph in graphs for edge in _edges(graph, remarks))
    return network(build, options, nodes, edges)


def parse(source: Source) -> Entry:
    """Return the file as a list of entries; raise BadInput, with the line, if it is not GML."""
    return _Reading(source.name, "\n".join(source.lines())).whole()


@dataclass
class _Reading:
    """A text while it is read: how far, and which lists are open."""

    name: str
    text: str
    at: int = 0
    line: int = 1
    count: int = 0
    open: list[Entry] = field(default_factory=lambda: [Entry("", 1)])

    def whole(self) -> Entry:
        """Read up to the end of the text."""
        while self._skip():
            if self.text[self.at] == "]" and len(self.open) > 1:
                self.open.pop()
                self.at += 1
            else:
                self._entry()
        if len(self.open) > 1:
            last = self.open[-1]
            raise self._refused(f"not GML: the list {last.key[:40]!r} has no end", last.line)
        return self.open[0]

    def _entry(self) -> None:
        key = KEY.match(self.text, self.at)
        if key is None:
            shown = self.text[self.at : self.at + 20]
            raise self._refused(f"not GML: expected a key, got {shown!r}", self.line)
        entry = Entry(key[0].lower(), self.line)
        self.at = key.end()
        self._skip()
        value = VALUE.match(self.text, self.at)
        if value is None:
            raise self._refused(f"not GML: {key[0][:40]!r} has no value", self.line)
        self._add(entry, opens=value["list"] is not None)
        entry.text = " ".join(_unescaped(value["number"] or value["string"] or "").split())
        self._go_to(value.end())

    def _add(self, entry: Entry, *, opens: bool) -> None:
        self.open[-1].entries.append(entry)
        self.count += 1
        if self.count > MOST_ENTRIES:
            raise self._refused(f"more than {MOST_ENTRIES} values", self.line)
        if opens:
            if len(self.open) > MOST_DEPTH:
                raise self._refused(f"lists are nested more than {MOST_DEPTH} deep", self.line)
            self.open.append(entry)

    def _skip(self) -> bool:
        """Pass over spaces and comments; return False at the end of the text."""
        between = BETWEEN.match(self.text, self.at)
        if between:
            self._go_to(between.end())
        return self.at < len(self.text)

    def _go_to(self, at: int) -> None:
        self.line += self.text.count("\n", self.at, at)
        self.at = at

    def _refused(self, what: str, line: int) -> BadInput:
        return BadInput(what, f"{self.name}:{line}")


def _unescaped(text: str) -> str:
    """Return a text with its entities replaced, except for numbers that are no characters."""
    return html.unescape(LONG_ENTITY.sub(r"&amp;#\1", text))


def _nodes(graph: Entry, remarks: Remarks) -> Iterator[AttributedNode]:
    for node in graph.all("node"):
        inner = list(node.all("graph"))
        if inner or node.text_of("isgroup") == "1":
            remarks.count(GROUP, node.line)
            for each in inner:
                yield from _nodes(each, remarks)
        elif not node.text_of("id"):
            remarks.problem(node.line, "a node without an id: left out")
        else:
            yield AttributedNode(node.text_of("id"), node.line, _values(node))


def _edges(graph: Entry, remarks: Remarks) -> Iterator[AttributedEdge]:
    directed = graph.text_of("directed") == "1"
    for edge in graph.all("edge"):
        a, b = edge.text_of("source"), edge.text_of("target")
        if not a or not b:
            remarks.problem(edge.line, "an edge without source or target: left out")
            continue
        yield AttributedEdge(a, b, edge.line, _values(edge), directed)
    for node in graph.all("node"):
        for inner in node.all("graph"):
            yield from _edges(inner, remarks)


def _values(of: Entry) -> Values:
    """Return the attributes of a node or an edge by name, those of its drawing among them."""
    found = {entry.key: entry.text for entry in of.entries if entry.text}
    for drawing in of.all("graphics"):
        for entry in drawing.entries:
            if entry.key in ("x", "y"):
                found.setdefault(entry.key, entry.text)
    return found
