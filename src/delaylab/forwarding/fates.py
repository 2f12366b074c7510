"""Black holes and micro-loops over time, from the tables at the start and their changes.

The tables of all nodes say for each destination where its packets end and which routers they go
around. Each change is followed for the destinations that it concerns alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from itertools import groupby
from typing import Literal

from delaylab.forwarding.service import ServiceOutage
from delaylab.forwarding.tables import Change, Hops, LinkChange, Lost, Table, TableChange
from delaylab.forwarding.walks import End, Loop, Wiring, covering, longest, loops_of, step

Kind = Literal["black hole", "loop"]


@dataclass(frozen=True)
class Interval:
    """A time in which packets to a destination ended at a router, or could go around some.

    `nodes` is the one router of a black hole, or the routers of a loop. `begin_ns` is None if it
    was there at the start, `end_ns` if it is there still. `is_exact` is False if one of both is
    only known to be the time at which tables were read again after messages were lost.
    """

    destination: str
    kind: Kind
    nodes: frozenset[str]
    begin_ns: int | None
    end_ns: int | None
    is_exact: bool = True

    @property
    def length_ns(self) -> int | None:
        """Return how long it was; None if its begin or its end is not known."""
        if self.begin_ns is None or self.end_ns is None:
            return None
        return self.end_ns - self.begin_ns


State = tuple[Kind, frozenset[str]]
"""A black hole at a router, or a loop of some."""


@dataclass
class _Destination:
    """An address, and the ways of packets to it by the tables as they are.

    `prefixes` are those that cover it, the longest first. `ends` counts for each node how many
    nodes' packets end there by their next step.
    """

    address: str
    prefixes: list[str]
    following: dict[str, frozenset[str]] = field(default_factory=dict)
    ending: dict[str, frozenset[str]] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)
    loops: frozenset[Loop] = frozenset()
    open: dict[State, tuple[int | None, bool]] = field(default_factory=dict)
    without: dict[str, int | None] = field(default_factory=dict)

    def sources(self, routers: Collection[str]) -> set[str]:
        """Return the nodes with packets that end at another node or go in a circle."""
        trouble = {node for state in self.states() for node in state[1]}
        if not trouble:
            return set()
        before: dict[str, set[str]] = {}
        for node, to in self.following.items():
            for each in to:
                before.setdefault(each, set()).add(node)
        found, left = set(trouble), list(trouble)
        while left:
            node = left.pop()
            if node in routers or node in trouble:
                fresh = before.get(node, set()) - found
                found |= fresh
                left += fresh
        return found

    def states(self) -> Iterator[State]:
        """Yield the black holes and the loops of now."""
        for node, count in self.ends.items():
            if count:
                yield "black hole", frozenset({node})
        for loop in self.loops:
            yield "loop", loop


class Fates:
    """The black holes and loops of all destinations; `take` follows changes.

    `destinations` are addresses. `down` are the ends of links that are down at the start. With
    `pairs` it also follows which nodes are without service to each: work that grows with both.
    """

    def __init__(
        self,
        tables: Mapping[str, Mapping[str, Hops]],
        wiring: Wiring,
        destinations: Iterable[str],
        down: Iterable[End] = (),
        *,
        pairs: bool = False,
    ) -> None:
        self._tables: dict[str, Table] = {node: dict(table) for node, table in tables.items()}
        self._wiring = wiring
        self._down = set(down)
        self._ended: list[Interval] = []
        self._outages: list[ServiceOutage] = []
        self.pairs = pairs
        every = list(dict.fromkeys(destinations))
        self._concerned: dict[str, list[_Destination]] = {}
        self._destinations = [_Destination(address, []) for address in every]
        self._by_address = {each.address: each for each in self._destinations}
        for prefix in {prefix for table in self._tables.values() for prefix in table}:
            self._learn(prefix)
        for each in self._destinations:
            self._follow(each, self._tables)
            each.open = dict.fromkeys(each.states(), (None, True))
            if pairs:
                each.without = dict.fromkeys(each.sources(wiring.routers))

    @property
    def tables(self) -> Mapping[str, Mapping[str, Hops]]:
        """Return the tables after the changes that were taken."""
        return self._tables

    def following(self, destination: str) -> dict[str, frozenset[str]]:
        """Return the nodes that each node hands its packets to an address to, as of now."""
        return dict(self._by_address[destination].following)

    def take(self, changes: Iterable[Change]) -> None:
        """Follow changes, which come by time.

        Those of one time are one: a link that is cut changes several routes at once.
        """
        for at_ns, together in groupby(changes, key=lambda change: change.at_ns):
            self._take_at(at_ns, list(together))

    def intervals(self) -> list[Interval]:
        """Return all intervals by their beginning, ended ones and open ones."""
        now = [
            Interval(destination.address, kind, nodes, begin_ns, None, exact)
            for destination in self._destinations
            for (kind, nodes), (begin_ns, exact) in destination.open.items()
        ]
        return sorted(
            [*self._ended, *now],
            key=lambda it: (it.begin_ns or 0, it.destination, it.kind, sorted(it.nodes)),
        )

    def outages(self) -> list[ServiceOutage]:
        """Return when nodes were without service to a destination, with `pairs`."""
        now = [
            ServiceOutage(source, destination.address, begin_ns, None)
            for destination in self._destinations
            for source, begin_ns in destination.without.items()
        ]
        return [*self._outages, *now]

    def _take_at(self, at_ns: int, changes: list[Change]) -> None:
        exact = not any(isinstance(change, Lost) for change in changes)
        concerned: dict[str, tuple[_Destination, set[str]]] = {}
        for change in changes:
            if isinstance(change, TableChange):
                table = self._tables.setdefault(change.node, {})
                if change.hops is None:
                    table.pop(change.prefix, None)
                else:
                    table[change.prefix] = change.hops
                for each in self._learn(change.prefix):
                    concerned.setdefault(each.address, (each, set()))[1].add(change.node)
            elif isinstance(change, LinkChange):
                for each, nodes in self._cut(change):
                    concerned.setdefault(each.address, (each, set()))[1].update(nodes)
        for each, nodes in concerned.values():
            self._follow(each, nodes)
            self._note(each, at_ns, exact=exact)
            if self.pairs and (each.open or each.without):
                self._note_pairs(each, at_ns)

    def _learn(self, prefix: str) -> list[_Destination]:
        """Return the destinations that a prefix covers, which know it from now on."""
        if prefix not in self._concerned:
            network = ip_network(prefix)
            found = [
                destination
                for destination in self._destinations
                if ip_address(destination.address).version == network.version
                and ip_address(destination.address) in network
            ]
            for each in found:
                each.prefixes = covering(each.address, [*each.prefixes, prefix])
            self._concerned[prefix] = found
        return self._concerned[prefix]

    def _cut(self, change: LinkChange) -> list[tuple[_Destination, set[str]]]:
        """Follow the state of an end of a link; return the nodes at it, for all destinations."""
        end = change.node, change.device
        if change.up == (end not in self._down):
            return []
        (self._down.discard if change.up else self._down.add)(end)
        nodes = {change.node, *self._wiring.beyond.get(end, {})} & self._tables.keys()
        return [(each, set(nodes)) for each in self._destinations]

    def _follow(self, destination: _Destination, nodes: Iterable[str]) -> None:
        """Look again where packets go next from some nodes."""
        wiring, owner = self._wiring, self._wiring.owners.get(destination.address)
        turned = []
        for node in nodes:
            if node == owner:
                to = ends = frozenset[str]()
            else:
                hops = longest(self._tables[node], destination.prefixes)
                to, ends = step(node, destination.address, hops, wiring, self._down)
            if ends != (before := destination.ending.get(node, frozenset())):
                destination.ends.subtract(before)
                destination.ends.update(ends)
                destination.ending[node] = ends
            if to != destination.following.get(node):
                destination.following[node] = to
                turned.append(node)
        if any(self._may_loop(destination, node) for node in turned):
            routers = wiring.routers
            destination.loops = loops_of(
                {
                    node: to & routers
                    for node, to in destination.following.items()
                    if node in routers
                }
            )

    def _may_loop(self, destination: _Destination, node: str) -> bool:
        """Return True if a node is in a loop, or can now come back to itself."""
        if any(node in loop for loop in destination.loops):
            return True
        seen: set[str] = set()
        left = [node]
        while left:
            fresh = destination.following.get(left.pop(), frozenset()) - seen
            if node in fresh:
                return True
            seen |= fresh
            left += fresh
        return False

    def _note(self, destination: _Destination, at_ns: int, *, exact: bool) -> None:
        """End the intervals that are over, and begin those that are new."""
        now = set(destination.states())
        for state in destination.open.keys() - now:
            begin_ns, begun_exactly = destination.open.pop(state)
            whole = exact and begun_exactly
            self._ended.append(Interval(destination.address, *state, begin_ns, at_ns, whole))
        for state in now - destination.open.keys():
            destination.open[state] = at_ns, exact

    def _note_pairs(self, destination: _Destination, at_ns: int) -> None:
        """End the outages that are over, and begin those that are new."""
        now = destination.sources(self._wiring.routers)
        for source in destination.without.keys() - now:
            begin_ns = destination.without.pop(source)
            self._outages.append(ServiceOutage(source, destination.address, begin_ns, at_ns))
        for source in now - destination.without.keys():
            destination.without[source] = at_ns
