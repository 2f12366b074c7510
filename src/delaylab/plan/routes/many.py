"""Routes of a lab with many routers: all paths first, then tables, as few routes as will do. Pure.

What grows with the square of a lab is held in whole numbers of four bytes: the least cost from each
router to each network. All else is made for some stacks at a time.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from delaylab.errors import BadInput
from delaylab.plan.routes.aggregates import MOST_CHOICES, Tree, ones, planes
from delaylab.plan.routes.costs import OUT_OF_REACH
from delaylab.plan.routes.networks import Addresses, Table
from delaylab.plan.routes.next_hops import Hops, every
from delaylab.plan.routes.reach import Stacks

MOST = 100_000_000
"""The largest number of pairs of a router and a network."""
AT_A_TIME = 4_000_000
"""The number of pairs that are worked on at a time: each takes some tens of bytes meanwhile."""
BITS = {4: 32, 6: 128}


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
    networks = [_Networks.of(links, addresses, version) for version in BITS]
    found: dict[str, Table] = {stack: {} for stack in stacks.links}
    for hops in _some(every(stacks, links, AT_A_TIME, multipath=multipath), len(links)):
        shared = {
            stack: each for stack, each in hops.items() if stack != machine and _can_share(each)
        }
        for of_version in networks:
            for stack, each in hops.items():
                alone = of_version.alone if stack in shared else of_version.each
                _one_by_one(each, alone, addresses, of_version.version, found[stack])
            of_version.together(shared, addresses, found)
    return found


def _some(hops: Iterable[tuple[str, Hops]], links: int) -> Iterator[dict[str, Hops]]:
    """Yield the next hops of all stacks, of some stacks at a time."""
    some: dict[str, Hops] = {}
    for stack, each in hops:
        some[stack] = each
        if len(some) * links >= AT_A_TIME:
            yield some
            some = {}
    yield some


def _can_share(hops: Hops) -> bool:
    """Return True if routes for parts of the pool lead all packets right.

    A packet for a network that is out of reach has to be refused at once.
    """
    return len(hops.sets) <= MOST_CHOICES and OUT_OF_REACH not in hops.of_link


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
        self._links = [shared[at][0] for at in self._tree.order]
        rising = sorted(range(len(self._tree.prefixes)), key=self._tree.prefixes.__getitem__)
        self._rank = [0] * len(rising)
        for rank, node in enumerate(rising):
            self._rank[node] = rank
        self._texts = [_written(*self._tree.prefixes[at], version) for at in rising]

    @classmethod
    def of(cls, links: Sequence[str], addresses: Addresses, version: int) -> _Networks:
        return cls(version, *_destinations(links, addresses, version))

    def together(
        self, hops: dict[str, Hops], addresses: Addresses, found: dict[str, Table]
    ) -> None:
        """Add routes that several networks share to the table of each stack."""
        if not self._links or not hops:
            return
        most = max(len(each.sets) for each in hops.values())
        # The first stack is the lowest bit, which is written last.
        rows = [bytes(each.of_link.tolist()) for each in reversed(hops.values())]
        chosen = b"".join(rows)
        leaves = [planes(chosen[link :: len(rows[0])], most) for link in self._links]
        routes: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for node, choice, tables in self._tree.routes(leaves):
            routes[choice].append((self._rank[node], tables))
        stacks = [*hops.items()]
        for choice in sorted(routes):
            texts: dict[int, list[str]] = defaultdict(list)
            for rank, tables in sorted(routes[choice]):
                text = self._texts[rank]
                for at in ones(tables):
                    texts[at].append(text)
            for at, here in texts.items():
                stack, each = stacks[at]
                via = addresses.of(each.sets[choice - 1], self.version)
                if via:
                    found[stack].setdefault(via, []).extend(here)


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
    hops: Hops,
    destinations: Iterable[Destination],
    addresses: Addresses,
    version: int,
    table: Table,
) -> None:
    """Add a route to each destination to a table."""
    for at, network in destinations:
        via = addresses.of(hops.toward(at), version)
        if via:
            table.setdefault(via, []).append(network)


def _written(prefix: int, length: int, version: int) -> str:
    address = ipaddress.IPv4Address(prefix) if version == 4 else ipaddress.IPv6Address(prefix)
    return f"{address}/{length}"
