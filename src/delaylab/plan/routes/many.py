"""Routes of a lab with many routers: all paths first, then tables, as few routes as will do. Pure.

What grows with the square of a lab is held in whole numbers of four bytes: the least cost from each
router to each network. All else is made for some stacks at a time.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from delaylab.plan.routes.aggregates import MOST_CHOICES, Tree, sets
from delaylab.plan.routes.networks import Addresses, Table
from delaylab.plan.routes.reach import Gateway, Stacks

AT_A_TIME = 4_000_000
"""The number of pairs that are worked on at a time: each takes some tens of bytes meanwhile."""
BITS = {4: 32, 6: 128}

Costs = NDArray[np.int32]
NEVER = 1 << 30
"""The cost to what is out of reach. A path over 10 000 links of the largest cost is cheaper."""


def tables(
    stacks: Stacks, addresses: Addresses, machine: str | None, *, multipath: bool
) -> dict[str, Table]:
    """Return the table of every stack.

    Networks that the file gives have a route each, and so have all in the table of `machine`. Those
    that are assigned share routes.
    """
    links = list(stacks.on)
    to_links = _CostsToLinks.of(stacks, links)
    networks = [_Networks.of(links, addresses, version) for version in BITS]
    found: dict[str, Table] = {stack: {} for stack in stacks.links}
    for hops in _some_hops(stacks, to_links, multipath=multipath):
        shared = {
            stack: each for stack, each in hops.items() if stack != machine and each.can_share
        }
        for of_version in networks:
            for stack, each in hops.items():
                alone = of_version.alone if stack in shared else of_version.each
                _one_by_one(each, alone, addresses, of_version.version, found[stack])
            of_version.together(shared, addresses, found)
    return found


@dataclass(frozen=True)
class _CostsToLinks:
    """The routers with their numbers, the stacks' links by number, and the least costs.

    The cost from a router (row) to a link (column) is 0 if the router is on the link.
    """

    number: dict[str, int]
    on: dict[str, list[int]]
    least: Costs

    @classmethod
    def of(cls, stacks: Stacks, links: Sequence[str]) -> _CostsToLinks:
        number = {
            stack: at
            for at, stack in enumerate(each for each in stacks.links if each in stacks.forwarding)
        }
        on: dict[str, list[int]] = {stack: [] for stack in stacks.links}
        for at, link in enumerate(links):
            for stack in stacks.on[link]:
                if stack in on:
                    on[stack].append(at)
        routers = [
            [number[stack] for stack in stacks.on[link] if stack in number] for link in links
        ]
        return cls(number, on, _least(_graph(stacks, links, routers, len(number)), routers))


def _graph(
    stacks: Stacks, links: Sequence[str], routers: Sequence[Sequence[int]], count: int
) -> csr_matrix:
    """Return the graph of the routers; of two links between a pair the cheaper one."""
    edges: dict[tuple[int, int], int] = {}
    for link, on in zip(links, routers, strict=True):
        cost = stacks.cost([link])
        for one in on:
            for other in on:
                if one != other:
                    edges[one, other] = min(cost, edges.get((one, other), cost))
    ends = np.array([*edges], int).reshape(-1, 2).T
    return csr_matrix(([*edges.values()], (ends[0], ends[1])), shape=(count, count))


def _least(graph: csr_matrix, routers: Sequence[Sequence[int]]) -> Costs:
    """Return the least cost from each router to each link, whose routers are given."""
    count = graph.shape[0]
    least = np.full((count, len(routers)), NEVER, np.int32)
    reached = np.array([at for at, on in enumerate(routers) if on], int)
    flat = np.array([each for on in routers for each in on], int)
    lengths = np.array([len(on) for on in routers if on], int)
    starts = np.cumsum(lengths) - lengths
    rows = max(1, AT_A_TIME // max(len(flat), 1))
    for first in range(0, count if reached.size else 0, rows):
        some = np.arange(first, min(first + rows, count))
        between = np.minimum(dijkstra(graph, indices=some), NEVER).astype(np.int32)
        least[some[:, None], reached] = np.minimum.reduceat(between[:, flat], starts, axis=1)
    return least


@dataclass(frozen=True)
class _Hops:
    """The next hops of one stack: different `sets` of gateways, and which is for each link.

    `of_link` has -1 for a link that the stack is on, and -2 for one that it cannot reach.
    """

    sets: list[list[Gateway]]
    of_link: NDArray[np.int32]

    @property
    def can_share(self) -> bool:
        """Return True if routes for parts of the pool lead all packets right.

        A packet for a network that is out of reach has to be refused at once.
        """
        return len(self.sets) <= MOST_CHOICES and bool((self.of_link != -2).all())


def _some_hops(
    stacks: Stacks, costs: _CostsToLinks, *, multipath: bool
) -> Iterator[dict[str, _Hops]]:
    """Yield the next hops of all stacks, of some stacks at a time.

    Those with few gateways come first: their choices fit into few bits.
    """
    some: dict[str, _Hops] = {}
    gateways = {stack: _gateways(stacks, stack, costs.number) for stack in stacks.links}
    for stack in sorted(gateways, key=lambda each: len(gateways[each])):
        some[stack] = _hops(stacks, stack, gateways[stack], costs, multipath=multipath)
        if len(some) * costs.least.shape[1] >= AT_A_TIME:
            yield some
            some = {}
    yield some


def _gateways(stacks: Stacks, stack: str, number: dict[str, int]) -> list[Gateway]:
    return [
        (gateway, over)
        for over in stacks.links[stack]
        for gateway in stacks.on[over]
        if gateway in number and gateway != stack
    ]


def _hops(
    stacks: Stacks, stack: str, gateways: list[Gateway], costs: _CostsToLinks, *, multipath: bool
) -> _Hops:
    """Return the next hops of a stack."""
    links = costs.least.shape[1]
    if not gateways:
        chosen = np.full(links, -2, np.int32)
        chosen[costs.on[stack]] = -1
        return _Hops([], chosen)
    rows = [costs.number[gateway] for gateway, _ in gateways]
    by_gateway = costs.least[rows]
    by_gateway += np.array([[stacks.cost([over])] for _, over in gateways], np.int32)
    least = by_gateway.min(axis=0)
    if multipath:
        sets, of_link = _sets(gateways, by_gateway == least)
    else:
        sets, of_link = [[each] for each in gateways], by_gateway.argmin(axis=0)
    chosen = of_link.astype(np.int32)
    chosen[least >= NEVER] = -2
    chosen[costs.on[stack]] = -1
    return _Hops(sets, chosen)


def _sets(
    gateways: list[Gateway], equal: NDArray[np.bool_]
) -> tuple[list[list[Gateway]], NDArray[np.int64]]:
    """Return the different columns of `equal` as sets of gateways, and which each column is."""
    packed = np.ascontiguousarray(np.packbits(equal, axis=0).T)
    columns = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, which = np.unique(columns, return_index=True, return_inverse=True)
    sets = [[gateways[at] for at in np.flatnonzero(equal[:, column])] for column in first]
    return sets, which.reshape(-1)


Destination = tuple[int, str]
"""The number of a link, and a network there."""


class _Networks:
    """The networks of a lab of one IP version: those that may share routes, and others."""

    def __init__(self, version: int, shared: list[Destination], alone: list[Destination]) -> None:
        self.version, self.alone = version, alone
        self.each = alone + shared
        """All networks."""
        parsed = [ipaddress.ip_network(network) for _, network in shared]
        prefixes = [(int(each.network_address), each.prefixlen) for each in parsed]
        self._tree = Tree(prefixes, BITS[version])
        self._links = np.array([shared[at][0] for at in self._tree.order], int)
        rising = sorted(range(len(self._tree.prefixes)), key=self._tree.prefixes.__getitem__)
        self._rank = np.empty(len(rising), int)
        self._rank[rising] = np.arange(len(rising))
        texts = [_written(*self._tree.prefixes[at], version) for at in rising]
        self._texts = np.array(texts, object)

    @classmethod
    def of(cls, links: Sequence[str], addresses: Addresses, version: int) -> _Networks:
        return cls(version, *_destinations(links, addresses, version))

    def together(
        self, hops: dict[str, _Hops], addresses: Addresses, tables: dict[str, Table]
    ) -> None:
        """Add routes that several networks share to the table of each stack."""
        if not self._links.size or not hops:
            return
        most = max(len(each.sets) for each in hops.values())
        chosen = np.stack([each.of_link[self._links] for each in hops.values()], axis=1)
        routes = self._tree.routes(sets(chosen, most))
        rank = self._rank[routes.prefix]
        order = np.lexsort((rank, routes.choice, routes.table))
        table, choice = routes.table[order], routes.choice[order]
        texts = self._texts[rank[order]].tolist()
        stacks = list(hops.items())
        ends = np.flatnonzero((np.diff(table) != 0) | (np.diff(choice) != 0)) + 1
        bounds = [0, *ends.tolist(), len(texts)] if texts else []
        for first, end in pairwise(bounds):
            stack, each = stacks[table[first]]
            via = addresses.of(each.sets[choice[first]], self.version)
            if via:
                tables[stack].setdefault(via, []).extend(texts[first:end])


def _destinations(
    links: Sequence[str], addresses: Addresses, version: int
) -> tuple[list[Destination], list[Destination]]:
    """Return the networks of an IP version that may share routes, and the others.

    Those that are assigned may, unless the file gives one that has addresses in common with them.
    """
    known: dict[str, int] = {}
    for at, link in enumerate(links):
        for network, its_version in addresses.networks[link].items():
            if its_version == version:
                known.setdefault(network, at)
    alone = set(known) - addresses.assigned
    end = -1
    before = ""
    for first, last, network in sorted(
        _extent(network) for network in addresses.assigned & known.keys()
    ):
        if first <= end:
            alone |= {before, network}
        if last > end:
            end, before = last, network
    shared = [(at, network) for network, at in known.items() if network not in alone]
    return shared, [(at, network) for network, at in known.items() if network in alone]


def _extent(text: str) -> tuple[int, int, str]:
    """Return the first and the last address of a network, and the network."""
    network = ipaddress.ip_network(text)
    return int(network[0]), int(network[-1]), text


def _one_by_one(
    hops: _Hops,
    destinations: Iterable[Destination],
    addresses: Addresses,
    version: int,
    table: Table,
) -> None:
    """Add a route to each destination to a table."""
    for at, network in destinations:
        which = int(hops.of_link[at])
        via = addresses.of(hops.sets[which], version) if which >= 0 else ()
        if via:
            table.setdefault(via, []).append(network)


def _written(prefix: int, length: int, version: int) -> str:
    address = ipaddress.IPv4Address(prefix) if version == 4 else ipaddress.IPv6Address(prefix)
    return f"{address}/{length}"
