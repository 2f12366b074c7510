"""Readers of GT-ITM's graphs: `.alt` tables, and `.gb` of the Stanford GraphBase.

Vertices may have coordinates (utility fields x and y), arcs a length, and a policy weight (a).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.model import Map, Position
from delaylab.topology.numbers import coordinate, number, scaled
from delaylab.topology.options import Coordinates, Options
from delaylab.topology.source import Source
from delaylab.topology.values import length

NAME_ALT, NAME_GB = "GT-ITM, alt", "GT-ITM, gb"
ALT_HEAD = re.compile(r"(?P<what>GRAPH|VERTICES|EDGES)\b.*")
GB_HEAD = re.compile(
    r"\* GraphBase graph \(util_types (?P<types>[A-Z]{14}),\s*[0-9]+V,\s*[0-9]+A\)\s*"
)
X, Y, A = 3, 4, 6
"""Places of utility fields among the fourteen types: x and y of a vertex, a of an arc."""
UNUSED = "Z"


def fits_alt(text: str) -> bool:
    """Return True for an `.alt` file."""
    return text.lstrip().startswith("GRAPH (#nodes")


def fits_gb(text: str) -> bool:
    """Return True for a file of the Stanford GraphBase."""
    return text.lstrip().startswith("* GraphBase graph")


def read_alt(source: Source, options: Options) -> Map:
    """Read an `.alt` file."""
    build = _builder(source, NAME_ALT, options)
    edges: list[Edge] = []
    part = ""
    for count, text in enumerate(source.lines(), start=1):
        head = ALT_HEAD.fullmatch(text.strip())
        words = text.split()
        if head:
            part = head["what"]
        elif words and part == "VERTICES":
            if len(words) < 2 or not words[0].isdecimal():
                build.remarks.problem(count, f"no vertex: {text.strip()[:40]!r}")
                continue
            at = _place(words[-2], words[-1], options) if len(words) >= 4 else None
            _add_node(build, words[0], words[1], at, count)
        elif words and part == "EDGES":
            found = _alt_edge(words, count, options)
            if found is None:
                build.remarks.problem(count, f"no edge: {text.strip()[:40]!r}")
            else:
                edges.append(found)
    _add_edges(build, edges)
    return build.finish()


def _alt_edge(words: list[str], line: int, options: Options) -> Edge | None:
    if len(words) < 2 or not (words[0].isdecimal() and words[1].isdecimal()):
        return None
    km = length(words[2]) if len(words) > 2 else None
    policy = number(words[3]) if len(words) > 3 else None
    return _edge(words[0], words[1], km, policy, line, options)


def read_gb(source: Source, options: Options) -> Map:
    """Read a `.gb` file: from each vertex, along the chain of its arcs."""
    build = _builder(source, NAME_GB, options)
    vertices: list[tuple[int, list[str]]] = []
    arcs: list[tuple[int, list[str]]] = []
    parts = {"* Vertices": vertices, "* Arcs": arcs}
    types = UNUSED * 14
    rows: list[tuple[int, list[str]]] | None = None
    for count, text in _joined(source):
        head = GB_HEAD.fullmatch(text)
        if head:
            types = head["types"]
        elif text.startswith("*"):
            rows = parts.get(text.strip())
        elif rows is not None and text.strip():
            rows.append((count, _cells(text, count, build)))
    used = [index for index in range(6) if types[index] != UNUSED]
    for index, (line, fields) in enumerate(vertices):
        extra = dict(zip(used, fields[2:], strict=False))
        at = _place(extra[X], extra[Y], options) if X in extra and Y in extra else None
        _add_node(build, str(index), fields[0], at, line)
    edges: list[Edge] = []
    for index, (line, fields) in enumerate(vertices):
        first = fields[1] if len(fields) > 1 else "0"
        for place in _chain(first, arcs, line, build):
            found = _gb_edge(str(index), arcs[place], types, options)
            if found is None:
                build.remarks.problem(arcs[place][0], "no arc: expected `V3,A5,12`")
            else:
                edges.append(found)
    _add_edges(build, edges)
    return build.finish()


def _cells(text: str, line: int, build: Builder) -> list[str]:
    """Return the fields of a line; of one that cannot be read, an empty one: it keeps its place."""
    try:
        return next(csv.reader([text]))
    except csv.Error as error:
        build.remarks.problem(line, f"fields that cannot be read ({error}): {text[:40]!r}")
        return [""]


def _joined(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; one that ends in a backslash goes on in the next."""
    begun, first = "", 0
    for count, line in enumerate(source.lines(), start=1):
        first = first or count
        if line.endswith("\\"):
            begun += line[:-1]
            continue
        yield first, begun + line
        begun, first = "", 0
    if begun:
        yield first, begun


def _chain(
    first: str, arcs: list[tuple[int, list[str]]], line: int, build: Builder
) -> Iterator[int]:
    """Yield the arcs of a vertex: each names the next one, the last one 0."""
    seen: set[int] = set()
    pointer = first
    while pointer != "0":
        place = _pointer(pointer, "A")
        if place is None or place >= len(arcs) or place in seen:
            what = "a circle of arcs" if place in seen else f"no arc {pointer[:20]!r}"
            build.remarks.problem(line, f"{what}: the vertex's further arcs are left out")
            return
        seen.add(place)
        yield place
        line, fields = arcs[place]
        pointer = fields[1] if len(fields) > 1 else "0"


def _pointer(text: str, kind: str) -> int | None:
    digits = text.removeprefix(kind)
    return int(digits) if digits != text and digits.isdecimal() and len(digits) < 10 else None


def _gb_edge(start: str, arc: tuple[int, list[str]], types: str, options: Options) -> Edge | None:
    line, fields = arc
    end = _pointer(fields[0], "V") if fields else None
    if end is None:
        return None
    km = length(fields[2]) if len(fields) > 2 else None
    policy = number(fields[3]) if len(fields) > 3 and types[A] != UNUSED else None
    return _edge(start, str(end), km, policy, line, options)


def _builder(source: Source, name: str, options: Options) -> Builder:
    build = Builder(source.lab, name, source.name)
    build.remarks.say(f"lengths are taken for km, at {options.km_delay} a km one way")
    return build


def _add_node(build: Builder, key: str, name: str, at: Position | None, line: int) -> None:
    build.node(key, line=line, wanted=f"r{key}", label="" if name == key else name, at=at)


def _place(x: str, y: str, options: Options) -> Position | None:
    found = coordinate(x), coordinate(y)
    if found[0] is None or found[1] is None:
        return None
    return Position(found[0], found[1], options.coordinates == Coordinates.DEGREES)


def _edge(
    start: str,
    end: str,
    km: Fraction | None,
    policy: Fraction | None,
    line: int,
    options: Options,
) -> Edge:
    delay = scaled(km, options.km_delay.ns)
    cost = policy if policy is not None and policy >= 0 else None
    return Edge(a=start, b=end, line=line, delay=delay, cost=cost)


def _add_edges(build: Builder, edges: list[Edge]) -> None:
    if any(edge.cost is not None for edge in edges):
        build.remarks.say("policy weights of links are their costs")
    for edge in in_both_directions(edges):
        build.edge(edge)


def in_both_directions(edges: list[Edge]) -> list[Edge]:
    """Return edges as directions of links if each of them is there the other way, too."""
    times = Counter((edge.a, edge.b) for edge in edges)
    if all(times[b, a] == number_ for (a, b), number_ in times.items()):
        return [replace(edge, directed=True) for edge in edges]
    return edges
