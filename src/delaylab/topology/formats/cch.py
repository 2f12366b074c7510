"""Reader of Rocketfuel's `.cch` and `.r0.cch`: the routers of a provider with their neighbours.

A line is `uid @location [+] [bb] (neighbours) [&outside] -> <uid> … {-uid} … =name rN`; one of a
router outside begins with a minus: `-uid =address rN`.
"""

from __future__ import annotations

import re

from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.remarks import Oddity
from delaylab.topology.source import Source

NAME = "Rocketfuel, cch"
LINE = re.compile(
    r"(?P<uid>[0-9]{1,12})\s+@(?P<place>\S*)\s*(?P<plus>\+)?\s*(?P<bb>bb)?\s*"
    r"(?:\([0-9]+\))?\s*(?:&[0-9]+)?\s*->\s*(?P<near>(?:<[0-9]{1,12}>\s*)*)"
    r"(?P<far>(?:\{-[0-9]{1,12}\}\s*)*)(?:=(?P<name>\S+))?\s*(?:r[0-9]+)?\s*"
)
OUTSIDE = re.compile(r"-[0-9]{1,12}\s+=\S+\s*(?:r[0-9]+)?\s*")
UNKNOWN = ("", "?", "T")
FAR = Oddity(
    "link leads to a router outside of the map: left out",
    "links lead to routers outside of the map: left out",
)


def fits(line: str) -> bool:
    """Return True for a line of this format."""
    return _line(line) is not None or OUTSIDE.fullmatch(line) is not None


def _line(text: str) -> re.Match[str] | None:
    # A run of spaces is one space: the pattern's many optional parts try each way to divide a run.
    return LINE.fullmatch(" ".join(text.split()))


def read(source: Source, _: Options) -> Map:
    """Read the routers of the map itself; those outside are counted."""
    name = source.lab if not source.lab.isdigit() else f"as{source.lab}"
    build = Builder(name, NAME, source.name)
    for count, text in enumerate(source.lines(), start=1):
        if not text.strip() or text.startswith("#") or OUTSIDE.fullmatch(text):
            continue
        found = _line(text)
        if found is None:
            build.remarks.problem(count, f"expected `uid @place … -> <uid> …`, got {text[:40]!r}")
            continue
        uid, place = found["uid"], found["place"].replace("+", " ")
        city = place.split(",")[0].strip()
        wanted = f"r{uid}" if city in UNKNOWN else f"{city}{uid}"
        label = ", ".join(filter(None, ("" if city in UNKNOWN else place, found["name"])))
        build.node(uid, line=count, wanted=wanted, label=label)
        for near in re.findall(r"<([0-9]+)>", found["near"]):
            build.edge(Edge(a=uid, b=near, line=count, directed=True))
        for _far in re.findall(r"\{", found["far"]):
            build.remarks.count(FAR, count)
    return build.finish()
