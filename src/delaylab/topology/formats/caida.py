"""Reader of CAIDA's AS links: `as-rel` (`1|2|-1`) and `as-links` (`D 1 2`)."""

from __future__ import annotations

import re

from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.remarks import Oddity
from delaylab.topology.source import Source

NAME = "CAIDA AS links"
RELATION = re.compile(r"(?P<a>[0-9]{1,10})\|(?P<b>[0-9]{1,10})\|(?P<how>-1|0|1|2)(?:\|.*)?\s*")
LINK = re.compile(r"(?P<how>[DI])\s+(?P<a>[0-9_,{}]+)\s+(?P<b>[0-9_,{}]+)(?:\s.*)?")
SKIPPED = re.compile(r"[TMS]\s+[0-9].*")
"""Lines of as-links that are no links: times, monitors, sets."""
INDIRECT = Oddity(
    "link is indirect, over a gap in the traces: left out",
    "links are indirect, over gaps in the traces: left out",
)
AGAIN = Oddity("link is there again: left out", "links are there again: left out")


def fits(line: str) -> bool:
    """Return True for a line of one of the two formats."""
    return any(each.fullmatch(line) is not None for each in (RELATION, LINK, SKIPPED))


def read(source: Source, _: Options) -> Map:
    """Read the links; each autonomous system is a node."""
    build = Builder(source.lab, NAME, source.name)
    remarks = build.remarks
    seen: set[frozenset[str]] = set()
    for count, text in enumerate(source.lines(), start=1):
        if not text.strip() or text.startswith("#") or SKIPPED.fullmatch(text):
            continue
        found = RELATION.fullmatch(text) or LINK.fullmatch(text)
        if found is None:
            remarks.problem(count, f"expected `as|as|relation` or `D as as`, got {text[:40]!r}")
        elif found["how"] == "I":
            remarks.count(INDIRECT, count)
        elif not (found["a"].isdecimal() and found["b"].isdecimal()):
            remarks.problem(count, "an end is a set of systems: left out")
        else:
            if found.re is RELATION:
                remarks.say("who pays whom has no place in a lab: all links are equal")
            ends = frozenset((found["a"], found["b"]))
            if ends in seen:
                remarks.count(AGAIN, count)
                continue
            seen.add(ends)
            for end in (found["a"], found["b"]):
                if not build.knows(end):
                    build.node(end, line=count, wanted=f"as{end}")
            build.edge(Edge(a=found["a"], b=found["b"], line=count))
    return build.finish()
