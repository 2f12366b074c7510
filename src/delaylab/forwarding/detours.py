"""Ways between nodes that an event changed: before it and after it, by the tables of all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

Following = Mapping[str, frozenset[str]]
"""The nodes that each node hands its packets to, for one destination."""
SHOWN = 20
"""The largest number of detours that are kept; all are counted."""


@dataclass(frozen=True)
class NodesPassed:
    """The nodes of a way, and how many equally good ways there are.

    It is the first of them by the names of its nodes.
    """

    nodes: tuple[str, ...]
    ways: int


@dataclass(frozen=True)
class Detour:
    """A pair of nodes whose packets go another way after an event; None is no way."""

    source: str
    destination: str
    before: NodesPassed | None
    after: NodesPassed | None

    @property
    def length(self) -> int:
        """Return the number of nodes of the way before, or after if there was none."""
        way = self.before or self.after
        return 0 if way is None else len(way.nodes)


@dataclass(frozen=True)
class Detours:
    """The pairs of nodes whose ways changed, and those that were looked at.

    `shown` are the first `SHOWN` of them, those with the fewest nodes first.
    """

    changed: int = 0
    pairs: int = 0
    shown: tuple[Detour, ...] = ()


def detours(
    before: Mapping[str, Following], after: Mapping[str, Following], without: Set[str] = frozenset()
) -> Detours:
    """Compare the ways to each destination, which is the name of a node.

    A pair's ways have changed if one of the nodes that its packets may come to hands them to others
    than before. `without` are nodes that do not run, which are no end of a way.
    """
    found: list[Detour] = []
    pairs = 0
    for destination in sorted(before.keys() & after.keys() - without):
        old, new = before[destination], after[destination]
        sources = (old.keys() | new.keys()) - without - {destination}
        pairs += len(sources)
        turned = {node for node in sources if old.get(node) != new.get(node)}
        concerned = _that_reach(turned, old) | _that_reach(turned, new)
        found += [
            Detour(
                source, destination, _way(source, destination, old), _way(source, destination, new)
            )
            for source in sources & concerned
        ]
    found.sort(key=lambda each: (each.length, each.source, each.destination))
    return Detours(len(found), pairs, tuple(found[:SHOWN]))


def _that_reach(nodes: Set[str], following: Following) -> set[str]:
    """Return some nodes and all others that may send packets to one of them."""
    senders: dict[str, list[str]] = {}
    for node, to in following.items():
        for other in to:
            senders.setdefault(other, []).append(node)
    seen, left = set(nodes), list(nodes)
    while left:
        fresh = set(senders.get(left.pop(), ())) - seen
        seen |= fresh
        left += fresh
    return seen


def _way(source: str, destination: str, following: Following) -> NodesPassed | None:
    way = [source]
    while way[-1] != destination:
        further = min(following.get(way[-1], ()), default=None)
        if further is None or further in way:
            return None
        way.append(further)
    return NodesPassed(tuple(way), _count(source, destination, following))


def _count(source: str, destination: str, following: Following) -> int:
    """Return the number of ways that pass no node twice."""
    counts: dict[str, int] = {destination: 1}

    def count(node: str, passed: frozenset[str]) -> int:
        if node not in counts:
            ahead = following.get(node, frozenset()) - passed
            counts[node] = sum(count(other, passed | {node}) for other in ahead)
        return counts[node]

    return count(source, frozenset())
