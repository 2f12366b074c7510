"""Remarks of an import: assumptions, oddities with their number, malformed lines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from delaylab.topology.model import BadLine

WHOLE = 10**9
"""A share of all, in the unit of shares."""
MOST_PROBLEMS = 20
"""The most malformed lines that are kept; all are counted."""
MOST_LOST = 200
"""The most remarks on what a lab file has no field for, each of which is there once."""
MOST_LINES = 3
"""The most lines that an oddity names."""


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something that links or nodes of a source may have, for one of them and for many."""

    one: str
    many: str


SELF_LOOP = Oddity(
    "link joins a node with itself: dropped", "links join a node with itself: dropped"
)
PARALLEL = Oddity(
    "link is parallel to another: kept, its name ends in -2",
    "links are parallel to others: kept, their names end in -2, -3 …",
)
ONE_WAY = Oddity(
    "link is in the source in one direction only: taken for both",
    "links are in the source in one direction only: taken for both",
)
BOTH_WAYS = Oddity(
    "link is in the source in both directions, unlike others: taken for one link, not for two",
    "links are in the source in both directions, unlike others: each is taken for one, not two",
)
TWO_LOSSES = Oddity(
    "link has another loss or jitter in each direction: kept, as `from:`",
    "links have another loss or jitter in each direction: kept, as `from:`",
)
LAN_ALONE = Oddity("LAN joins no node: dropped", "LANs join no node: dropped")
LAN_TWICE = Oddity(
    "node is on a LAN twice: it has one interface to it",
    "nodes are on a LAN twice: they have one interface to it",
)
LAN_SUM = Oddity(
    "LAN has links of different delays or weights: the largest sum of two holds between all",
    "LANs have links of different delays or weights: the largest sum of two holds between all",
)
LANS_JOINED = Oddity("link joins two LANs: they are one", "links join two LANs: they are one")
TWO_COSTS = Oddity(
    "link has two weights, one in each direction: the first one counts in both",
    "links have two weights, one in each direction: the first one counts in both",
)
TWO_DELAYS = Oddity(
    "link has another delay in each direction: kept, as `from:`",
    "links have another delay in each direction: kept, as `from:`",
)
TWO_CAPACITIES = Oddity(
    "link has another capacity in each direction: the larger one is kept",
    "links have another capacity in each direction: the larger one is kept",
)
NO_NODE = Oddity(
    "link leads to a node that the source does not have: dropped",
    "links lead to nodes that the source does not have: dropped",
)
NODE_TWICE = Oddity(
    "node is in the source twice: the first one counts",
    "nodes are in the source more than once: the first one counts",
)
NO_DELAY = Oddity("link has no delay in the source", "links have no delay in the source")
NO_CAPACITY = Oddity("link has no capacity in the source", "links have no capacity in the source")
NO_LINKS = Oddity("node has no link", "nodes have no link")
DEVICE = Oddity(
    "interface cannot have its name in a lab, or its node has another of it: named as its link",
    "interfaces cannot have their names in a lab, or their nodes have others of them: named as "
    "their links",
)
ZERO_DELAY = Oddity(
    "link joins nodes at the same place: no delay",
    "links join nodes at the same place: no delay",
)


@dataclass
class Remarks:
    """A collection of remarks, in the order in which they came up."""

    source: str = ""
    said: list[str] = field(default_factory=list)
    odd: dict[Oddity, list[int]] = field(default_factory=lambda: defaultdict(list))
    problems: list[BadLine] = field(default_factory=list)
    malformed: int = 0
    unfit: set[tuple[str, int]] = field(default_factory=set)
    """The files and lines of malformed lines."""

    def say(self, text: str) -> None:
        """Add an assumption, once."""
        if text not in self.said:
            self.said.append(text)

    def count(self, what: Oddity, line: int = 0) -> None:
        """Count an oddity, with its line in the source if it has one."""
        self.odd[what].append(line)

    def problem(self, line: int, what: str, file: str = "") -> None:
        """Add a malformed line; past the first ones, lines are only counted."""
        self.malformed += 1
        self.unfit.add((file or self.source, line))
        self._keep(line, what, file)

    def lost(self, line: int, what: str) -> None:
        """Add a line that is well-formed but has no counterpart in a lab file."""
        self.malformed += 1
        self._keep(line, what, "", MOST_LOST)

    def _keep(self, line: int, what: str, file: str, most: int = MOST_PROBLEMS) -> None:
        if len(self.problems) < most:
            self.problems.append(BadLine(line, what, file))

    def lines(self) -> tuple[str, ...]:
        """Return all assumptions and oddities, a line each."""
        return (*self.said, *(_counted(what, lines) for what, lines in self.odd.items()))


def _counted(what: Oddity, lines: list[int]) -> str:
    named = sorted({line for line in lines if line})
    place = ""
    if named:
        few = ", ".join(map(str, named[:MOST_LINES]))
        more = " …" if len(named) > MOST_LINES else ""
        place = f" (line{'s' if len(named) > 1 else ''} {few}{more})"
    return f"{len(lines)} {what.one if len(lines) == 1 else what.many}{place}"
