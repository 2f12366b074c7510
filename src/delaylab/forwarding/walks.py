"""Ways of packets by the tables of all nodes: to their destination, into a black hole, in a loop.

If a route has several next hops, a packet may take any of them: a way exists if any choice of next
hops leads along it. A black hole is where a way ends at a node other than the destination, a loop
is a set of nodes that a way can go around for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address, ip_network

from delaylab.forwarding.tables import Hops, NextHop

End = tuple[str, str]
"""A node's end of a link: the node, and its device."""

Loop = frozenset[str]
"""The nodes that a packet can go around for ever."""


@dataclass(frozen=True)
class Wiring:
    """The nodes that are on a link together, the node of each address, and those that forward.

    `beyond` has for each device of a node the other nodes on its link, each with its device there.
    `owners` has the node of each address, link-local ones too. A packet that reaches a node not in
    `routers` is dropped unless it is addressed to it.
    """

    beyond: Mapping[End, Mapping[str, str]]
    owners: Mapping[str, str]
    routers: frozenset[str]

    def next_node(
        self, node: str, hop: NextHop, destination: str, down: Set[End] = frozenset()
    ) -> str | None:
        """Return the node that a packet reaches by a next hop, None if nobody takes it there.

        A gateway whose address is not known is the other node of a link of two. `down` are ends
        of links that neither send nor receive.
        """
        others = self.beyond.get((node, hop.device), {})
        owner = self.owners.get(destination if hop.gateway is None else hop.gateway)
        if owner is None and hop.gateway is not None and len(others) == 1:
            owner = next(iter(others))
        if owner is None or owner not in others:
            return None
        cut = down and ((node, hop.device) in down or (owner, others[owner]) in down)
        return None if cut else owner


@dataclass(frozen=True)
class Walk:
    """The possible fates of the packets to a destination that a node sends.

    `delivered` is True if a way leads to the destination; `holes` are the nodes where one ends
    before, `loops` those that one can go around. All three may be so if routes have several hops.
    """

    delivered: bool
    holes: frozenset[str]
    loops: frozenset[Loop]

    @property
    def is_right(self) -> bool:
        """Return True if every way leads to the destination."""
        return self.delivered and not self.holes and not self.loops


@dataclass(frozen=True)
class Onward:
    """The nodes that each node hands its packets to, for one destination.

    `owner` is the node that has the address, None if no node does. `holes` are the nodes where
    packets end, also those that the node sends itself: without a route, with one that discards, or
    with a next hop where nobody takes them.
    """

    owner: str | None
    following: Mapping[str, frozenset[str]]
    holes: frozenset[str]
    routers: frozenset[str]

    @cached_property
    def loops(self) -> frozenset[Loop]:
        """Return the sets of nodes that packets can go around for ever."""
        return loops_of(
            {node: to & self.routers for node, to in self.following.items() if node in self.routers}
        )

    def walk(self, start: str) -> Walk:
        """Return what can happen to the packets that a node sends."""
        reached = self.reached(start)
        loops = frozenset(loop for loop in self.loops if loop & reached)
        return Walk(self.owner in reached, self.holes & reached, loops)

    def reached(self, start: str) -> frozenset[str]:
        """Return the nodes that packets of a node can come to, with the node itself."""
        seen, left = {start}, [start]
        while left:
            node = left.pop()
            if node == start or node in self.routers:
                fresh = self.following.get(node, frozenset()) - seen
                seen |= fresh
                left += fresh
        return frozenset(seen)


def onward(
    destination: str,
    tables: Mapping[str, Mapping[str, Hops]],
    wiring: Wiring,
    down: Set[End] = frozenset(),
) -> Onward:
    """Return for all nodes with a table which nodes their packets to an address go to next.

    `down` are ends of links that neither send nor receive.
    """
    prefixes = covering(destination, {prefix for table in tables.values() for prefix in table})
    owner = wiring.owners.get(destination)
    following: dict[str, frozenset[str]] = {}
    holes: set[str] = set()
    for node, table in tables.items():
        if node == owner:
            following[node] = frozenset()
            continue
        to, ends = step(node, destination, longest(table, prefixes), wiring, down)
        following[node] = to
        holes |= ends
    return Onward(owner, following, frozenset(holes), wiring.routers)


def step(
    node: str,
    destination: str,
    hops: Hops | None,
    wiring: Wiring,
    down: Set[End] = frozenset(),
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the nodes that packets go to next, and the nodes where they end by this step."""
    to = {wiring.next_node(node, hop, destination, down) for hop in hops or ()}
    followed = frozenset(each for each in to if each is not None)
    owner = wiring.owners.get(destination)
    ends = {each for each in followed if each != owner and each not in wiring.routers}
    if not to or None in to:
        ends.add(node)
    return followed, frozenset(ends)


def covering(destination: str, prefixes: Iterable[str]) -> list[str]:
    """Return the prefixes that contain an address, the longest first."""
    address = ip_address(destination)
    fitting = [
        network
        for network in map(ip_network, prefixes)
        if network.version == address.version and address in network
    ]
    return [str(each) for each in sorted(fitting, key=lambda each: -each.prefixlen)]


def longest(table: Mapping[str, Hops], prefixes: Sequence[str]) -> Hops | None:
    """Return the next hops of the first of the prefixes that a table has; None if it has none."""
    return next((table[prefix] for prefix in prefixes if prefix in table), None)


def loops_of(following: Mapping[str, frozenset[str]]) -> frozenset[Loop]:
    """Return the sets of nodes of a graph that can be gone around for ever.

    They are its strongly connected components with an edge inside (Tarjan 1972).
    """
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[Loop] = []
    for root in following:
        if root in number:
            continue
        left = [(root, iter(following[root]))]
        number[root] = lowest[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while left:
            node, ahead = left[-1]
            for other in ahead:
                if other not in following:
                    continue
                if other not in number:
                    number[other] = lowest[other] = len(number)
                    stack.append(other)
                    on_stack.add(other)
                    left.append((other, iter(following[other])))
                    break
                if other in on_stack:
                    lowest[node] = min(lowest[node], number[other])
            else:
                left.pop()
                if left:
                    before = left[-1][0]
                    lowest[before] = min(lowest[before], lowest[node])
                if lowest[node] == number[node]:
                    part = _taken(stack, on_stack, node)
                    if len(part) > 1 or node in following[node]:
                        found.append(part)
    return frozenset(found)


def _taken(stack: list[str], on_stack: set[str], last: str) -> Loop:
    """Return the nodes from the top of the stack down to `last`, and take them off."""
    part = set()
    while last not in part:
        part.add(stack.pop())
    on_stack -= part
    return frozenset(part)
