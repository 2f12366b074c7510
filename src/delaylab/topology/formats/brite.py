"""Reader of BRITE's output: `Nodes:` with `id x y … AS type`, `Edges:` with length, delay, rate."""

from __future__ import annotations

import re

from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.model import Map, Position
from delaylab.topology.numbers import coordinate, number, scaled, whole
from delaylab.topology.options import Coordinates, Options
from delaylab.topology.source import Source
from delaylab.topology.values import duration, rate

NAME = "BRITE"
HEAD = re.compile(r"(?P<what>Nodes|Edges)\s*:\s*\(\s*(?P<number>[0-9]{1,9})\s*\)?.*")
MILLISECOND, MEGABIT = 10**6, 10**6


def fits(text: str) -> bool:
    """Return True for BRITE's output."""
    return text.lstrip().startswith("Topology:")


def read(source: Source, options: Options) -> Map:
    """Read nodes and edges."""
    build = Builder(source.lab, NAME, source.name)
    remarks = build.remarks
    unit = options.delay_unit or "ms"
    remarks.say(f"delays are one-way, in {unit}; bandwidths are in Mbit/s")
    announced: dict[str, int] = {}
    found = {"Nodes": 0, "Edges": 0}
    part = ""
    for count, text in enumerate(source.lines(), start=1):
        head = HEAD.fullmatch(text.strip())
        words = text.split()
        if head:
            part = head["what"]
            announced[part] = int(head["number"])
        elif not words or not part:
            continue
        elif (_node if part == "Nodes" else _edge)(words, count, build, options):
            found[part] += 1
        else:
            remarks.problem(count, f"not one of the {part.lower()}: {text.strip()[:40]!r}")
    for part, number_ in announced.items():
        if found[part] != number_:
            remarks.say(f"the head says {number_} {part.lower()}, {found[part]} are there")
    return build.finish()


def _node(words: list[str], line: int, build: Builder, options: Options) -> bool:
    if len(words) < 3 or not words[0].isdecimal():
        return False
    x, y = coordinate(words[1]), coordinate(words[2])
    if x is None or y is None:
        return False
    kind = words[6] if len(words) > 6 else ""
    domain = whole(words[5]) if len(words) > 5 else None
    label = f"AS {domain}" if domain is not None and domain >= 0 else ""
    wanted = f"{'as' if kind.startswith('AS') else 'r'}{words[0]}"
    on_earth = options.coordinates == Coordinates.DEGREES
    build.node(words[0], line=line, wanted=wanted, label=label, at=Position(x, y, on_earth))
    return True


def _edge(words: list[str], line: int, build: Builder, options: Options) -> bool:
    if len(words) < 6 or not all(word.isdecimal() for word in words[:3]):
        return False
    delay = duration(words[4], int(options.delay_unit or MILLISECOND))
    capacity = rate(words[5], MEGABIT)
    if delay is None or (capacity is None and number(words[5]) is None):
        return False
    build.edge(
        Edge(
            a=words[1],
            b=words[2],
            line=line,
            delay=scaled(delay, 1),
            capacity=scaled(capacity, 1) or None,
            directed=words[-1] == "D",
        )
    )
    return True
