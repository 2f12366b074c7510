"""Routes of a lab's stacks, over paths of the least cost. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from delaylab.plan.model import Route
from delaylab.plan.routes.networks import Addresses, Table
from delaylab.plan.routes.reach import NextHops, Stacks
from delaylab.resolve.addresses import POOL4, POOL6

AGGREGATED_FROM = 150
"""The number of stacks that forward from which on routes to several networks are made one.

Fewer routers have so few routes that each network may have its own.
"""


def routes(stacks: Stacks, machine: str | None, *, multipath: bool = False) -> Iterator[Route]:
    """Yield the routes of every stack to all links that it is not on.

    With `multipath` a route has all next hops of the least cost, else the first of them. No stack
    has a default route: a lab reaches nothing outside, and a packet to an address outside would
    circle between routers. A stack with a single gateway has one route for all addresses that labs
    are assigned, except on this machine itself: `machine` is the agent in whose network this
    machine's own stack is. In a large lab others have such routes, too, for parts of the pool.

    Raises BadInput if the lab is so large that its routes could not be made.
    """
    addresses = Addresses(stacks)
    edges = stacks.edges(except_for=[machine] if machine else [])
    inner = stacks.without(edges)
    tables: dict[str, Table]
    if len(stacks.forwarding) < AGGREGATED_FROM:
        tables = _tables(inner, addresses, multipath=multipath)
    else:
        from delaylab.plan.routes.many import tables as of_many  # noqa: PLC0415  few labs need it

        tables = of_many(inner, addresses, machine, multipath=multipath)
    for stack, table in _to_gateways(stacks, addresses, edges).items():
        tables.setdefault(stack, {})
        for via, networks in table.items():
            tables[stack].setdefault(via, []).extend(networks)
    for stack in stacks.links:
        for via, networks in tables.get(stack, {}).items():
            yield Route(stack, tuple(networks), via)


def routes_of_hosts(stacks: Stacks, machine: str | None) -> Iterator[Route]:
    """Yield routes of the stacks that do not forward, each to the first router on its links.

    Of several links the one of the least cost is taken. They are for labs whose routers have
    daemons.
    """
    gateways = stacks.first_gateways(except_for=[machine] if machine else [])
    tables = _to_gateways(stacks, Addresses(stacks), gateways)
    for stack, table in tables.items():
        for via, networks in table.items():
            yield Route(stack, tuple(networks), via)


def _to_gateways(stacks: Stacks, addresses: Addresses, gateways: NextHops) -> dict[str, Table]:
    """Return routes to all that each of these stacks reaches, over its one gateway."""
    areas = _areas(stacks, addresses)
    tables: dict[str, Table] = {}
    for stack, hop in gateways.items():
        own = {net for link in stacks.links[stack] for net in addresses.networks[link]}
        table = tables.setdefault(stack, {})
        for network, version in areas[hop[0]].beyond(own):
            via = addresses.of([hop], version, stack)
            if via:
                table.setdefault(via, []).append(network)
    return tables


def _tables(stacks: Stacks, addresses: Addresses, *, multipath: bool) -> dict[str, Table]:
    """Return a route for every network in every stack's table."""
    tables: dict[str, Table] = {}
    routed: set[tuple[str, str]] = set()
    for link in stacks.on:
        networks = addresses.networks[link].items()
        for stack, hops in stacks.every_toward(link).items():
            for network, version in networks:
                via = addresses.of(hops if multipath else hops[:1], version, stack)
                if via and (stack, network) not in routed:
                    routed.add((stack, network))
                    tables.setdefault(stack, {}).setdefault(via, []).append(network)
    return tables


@dataclass(frozen=True)
class _Area:
    """The networks that some stacks reach: those of each pool by IP version, and others."""

    assigned: dict[int, list[str]] = field(default_factory=lambda: {4: [], 6: []})
    given: list[tuple[str, int]] = field(default_factory=list)

    def beyond(self, own: set[str]) -> Iterator[tuple[str, int]]:
        """Yield what a stack on the networks `own` needs routes to, and each one's IP version."""
        for pool in (POOL4, POOL6):
            if any(network not in own for network in self.assigned[pool.version]):
                yield str(pool), pool.version
        yield from (each for each in self.given if each[0] not in own)


def _areas(stacks: Stacks, addresses: Addresses) -> dict[str, _Area]:
    made: dict[int, _Area] = {}
    found: dict[str, _Area] = {}
    for stack, links in stacks.areas().items():
        if id(links) not in made:
            made[id(links)] = _area(links, addresses)
        found[stack] = made[id(links)]
    return found


def _area(links: Iterable[str], addresses: Addresses) -> _Area:
    area = _Area()
    networks = {net: version for link in links for net, version in addresses.networks[link].items()}
    for network, version in networks.items():
        if network in addresses.assigned:
            area.assigned[version].append(network)
        else:
            area.given.append((network, version))
    return area
