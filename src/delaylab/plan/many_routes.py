"""Routes of a lab with many routers: of all pairs at once, and as few as will do. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from delaylab.errors import BadInput
from delaylab.plan.aggregates import ANY, MOST_CHOICES, Sets, aggregates
from delaylab.plan.networks import Addresses, Table
from delaylab.plan.reach import Gateway, Stacks

MOST = 100_000_000
"""The largest number of pairs of a router and a network. A pair needs up to 80 bytes for a while:
5000 routers with 10 000 links, each router with a loopback, are 75 million and take 6 GB."""
BITS = {4: 32, 6: 128}

Costs = NDArray[np.float64]


def tables(
    stacks: Stacks, addresses: Addresses, machine: str | None, *, multipath: bool
) -> dict[str, Table]:
    """Return the table of every stack.

    Networks that the file gives have a route each, and so have all in the table of `machine`. Those
    that are assigned share routes. Raises BadInput if the lab is too large.
    """
    links = list(stacks.on)
    if len(stacks.forwarding) * len(links) > MOST:
        what = f"{len(stacks.forwarding)} routers need routes to {len(links)} networks each"
        raise BadInput(what, fix="say `routes: none` and let routing daemons summarise them")
    costs = _costs_to(stacks, links)
    on = _on(stacks, links)
    hops = {
        stack: _hops(stacks, stack, costs, on[stack], multipath=multipath) for stack in stacks.links
    }
    whole = [stack for stack, each in hops.items() if stack == machine or not each.can_share]
    found: dict[str, Table] = {stack: {} for stack in hops}
    for version in BITS:
        shared, single = _destinations(links, addresses, version)
        for stack, each in hops.items():
            here = single + shared if stack in whole else single
            found[stack] |= _one_by_one(each, here, addresses, version)
        others = {stack: each for stack, each in hops.items() if stack not in whole}
        for stack, table in _together(others, shared, addresses, version):
            found[stack] |= table
    return found


def _on(stacks: Stacks, links: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """Return for each stack which of the links it is on."""
    found = {stack: np.zeros(len(links), bool) for stack in stacks.links}
    for at, link in enumerate(links):
        for stack in stacks.on[link]:
            if stack in found:
                found[stack][at] = True
    return found


def _costs_to(stacks: Stacks, links: Sequence[str]) -> tuple[dict[str, int], Costs]:
    """Return the routers with their numbers, and the least cost from each to each link.

    The cost is 0 of a router that is on the link, and infinite of one that cannot reach it.
    """
    number = {
        stack: at
        for at, stack in enumerate(each for each in stacks.links if each in stacks.forwarding)
    }
    edges: dict[tuple[int, int], int] = {}
    on = [[number[stack] for stack in stacks.on[link] if stack in number] for link in links]
    for link, routers in zip(links, on, strict=True):
        cost = stacks.cost([link])
        for one in routers:
            for other in routers:
                if one != other:
                    edges[one, other] = min(cost, edges.get((one, other), cost))
    ends = np.array([*edges], int).reshape(-1, 2).T
    graph = csr_matrix(([*edges.values()], (ends[0], ends[1])), shape=(len(number), len(number)))
    between = dijkstra(graph)
    to_links = [
        between[:, routers].min(axis=1) if routers else np.full(len(number), np.inf)
        for routers in on
    ]
    return number, np.stack(to_links, axis=1)


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

    def choices(self) -> Sets:
        """Return the set of choices for each link."""
        bits = np.uint64(1) << np.maximum(self.of_link, 0).astype(np.uint64)
        return np.where(self.of_link < 0, ANY, bits)


def _hops(
    stacks: Stacks,
    stack: str,
    costs: tuple[dict[str, int], Costs],
    here: NDArray[np.bool_],
    *,
    multipath: bool,
) -> _Hops:
    """Return the next hops of a stack; it is on the links that are True in `here`."""
    number, to_links = costs
    gateways = [
        (gateway, over)
        for over in stacks.links[stack]
        for gateway in stacks.on[over]
        if gateway in number and gateway != stack
    ]
    if not gateways:
        return _Hops([], np.where(here, -1, -2).astype(np.int32))
    by_gateway = np.stack(
        [to_links[number[gateway]] + stacks.cost([over]) for gateway, over in gateways]
    )
    least = by_gateway.min(axis=0)
    if multipath:
        sets, of_link = _sets(gateways, by_gateway == least)
    else:
        sets, of_link = [[each] for each in gateways], by_gateway.argmin(axis=0)
    chosen = np.where(here, -1, np.where(np.isinf(least), -2, of_link))
    return _Hops(sets, chosen.astype(np.int32))


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
    hops: _Hops, destinations: Iterable[Destination], addresses: Addresses, version: int
) -> Table:
    """Return a table with a route to each destination."""
    table: Table = {}
    for at, network in destinations:
        which = int(hops.of_link[at])
        via = addresses.of(hops.sets[which], version) if which >= 0 else ()
        if via:
            table.setdefault(via, []).append(network)
    return table


def _together(
    hops: Mapping[str, _Hops],
    destinations: Sequence[Destination],
    addresses: Addresses,
    version: int,
) -> Iterator[tuple[str, Table]]:
    """Yield each stack with a table of routes that several destinations share."""
    if not destinations or not hops:
        return
    at = [link for link, _ in destinations]
    choices = np.stack([each.choices()[at] for each in hops.values()], axis=1)
    networks = [ipaddress.ip_network(network) for _, network in destinations]
    prefixes = [(int(each.network_address), each.prefixlen) for each in networks]
    routes = list(aggregates(prefixes, choices, BITS[version]))
    if not routes:
        return
    written = np.array([_written(prefix, length, version) for prefix, length, _ in routes])
    chosen = np.stack([sets for *_, sets in routes], axis=1)
    for (stack, each), of_stack in zip(hops.items(), chosen, strict=True):
        table: Table = {}
        for number, gateways in enumerate(each.sets):
            there = written[of_stack == np.uint64(1) << np.uint64(number)]
            via = addresses.of(gateways, version)
            if via and there.size:
                table.setdefault(via, []).extend(there.tolist())
        yield stack, table


def _written(prefix: int, length: int, version: int) -> str:
    address = ipaddress.IPv4Address(prefix) if version == 4 else ipaddress.IPv6Address(prefix)
    return f"{address}/{length}"
