"""Routes of a lab's stacks, over paths of the least cost. Pure."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from delaylab.plan.addresses import POOL4, POOL6
from delaylab.plan.model import Route
from delaylab.plan.reach import Stacks


def routes(stacks: Stacks, machine: str | None) -> Iterator[Route]:
    """Yield the routes of every stack to all links that it is not on.

    No stack has a default route: a lab reaches nothing outside, and a packet to an address outside
    would circle between routers. A stack with a single gateway has one route for all addresses that
    labs are assigned, except on this machine itself: `machine` is the agent in whose network this
    machine's own stack is.
    """
    addresses = _Addresses(stacks)
    edges = stacks.edges(except_for=[machine] if machine else [])
    tables: dict[str, dict[str, str]] = {stack: {} for stack in stacks.links}
    inner = stacks.without(edges)
    for link in inner.on:
        networks = addresses.networks[link].items()
        for stack, (gateway, over) in inner.toward(link).items():
            for network, version in networks:
                via = addresses.first.get((over, gateway, version))
                if via is not None:
                    tables[stack].setdefault(network, via)
    areas = _areas(stacks, addresses)
    for stack, (gateway, over) in edges.items():
        own = {net for link in stacks.links[stack] for net in addresses.networks[link]}
        for network, version in areas[gateway].beyond(own):
            via = addresses.first.get((over, gateway, version))
            if via is not None:
                tables[stack][network] = via
    for stack, table in tables.items():
        yield from (Route(stack, network, via) for network, via in table.items())


class _Addresses:
    """The networks of each link, and each stack's first addresses there, parsed once."""

    def __init__(self, stacks: Stacks) -> None:
        self.networks: dict[str, dict[str, int]] = defaultdict(dict)
        """Link -> its networks -> their IP version."""
        self.assigned: set[str] = set()
        """The networks that are part of a pool."""
        self.first: dict[tuple[str, str, int], str] = {}
        """Link, stack and IP version -> the stack's first such address there."""
        for link, on in stacks.on.items():
            for stack, texts in on.items():
                for interface in map(ipaddress.ip_interface, texts):
                    network, version = str(interface.network), interface.version
                    self.networks[link][network] = version
                    self.first.setdefault((link, stack, version), str(interface.ip))
                    if interface.ip in (POOL4 if version == 4 else POOL6):
                        self.assigned.add(network)


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


def _areas(stacks: Stacks, addresses: _Addresses) -> dict[str, _Area]:
    made: dict[int, _Area] = {}
    found: dict[str, _Area] = {}
    for stack, links in stacks.areas().items():
        if id(links) not in made:
            made[id(links)] = _area(links, addresses)
        found[stack] = made[id(links)]
    return found


def _area(links: Iterable[str], addresses: _Addresses) -> _Area:
    area = _Area()
    networks = {net: version for link in links for net, version in addresses.networks[link].items()}
    for network, version in networks.items():
        if network in addresses.assigned:
            area.assigned[version].append(network)
        else:
            area.given.append((network, version))
    return area
