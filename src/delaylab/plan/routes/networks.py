"""The networks of a lab's links, and the addresses of its routers there."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable

from delaylab.plan.routes.reach import Gateway, Stacks
from delaylab.resolve.addresses import POOL4, POOL6

Table = dict[tuple[str, ...], list[str]]
"""The addresses of next hops -> the networks that are reached over them."""


class Addresses:
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

    def of(
        self, hops: Iterable[Gateway], version: int, stack: str | None = None
    ) -> tuple[str, ...]:
        """Return the addresses of gateways that have one of an IP version.

        Those of a link on which `stack` has no such address are left out: it could not reach them.
        """
        found = (
            self.first.get((over, gateway, version))
            for gateway, over in hops
            if stack is None or (over, stack, version) in self.first
        )
        return tuple(address for address in found if address is not None)
