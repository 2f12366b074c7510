"""Addresses of interfaces, `ipv4` and `ipv6` of links, as far as a lab file can have them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from delaylab.spec.addresses import Address, Interface, why_no_address


@dataclass
class Addresses:
    """The addresses that links have so far, each with its node."""

    _owners: dict[Address, str] = field(default_factory=dict)

    def take(self, nodes: tuple[str, str], texts: tuple[str, str]) -> bool:
        """Return True if two nodes can have addresses on a link; they then have them."""
        one, other = map(_interface, texts)
        if one is None or other is None or nodes[0] == nodes[1]:
            return False
        if one.network != other.network or one.ip == other.ip:
            return False
        pairs = ((one.ip, nodes[0]), (other.ip, nodes[1]))
        if any(self._owners.get(address, node) != node for address, node in pairs):
            return False
        self._owners |= dict(pairs)
        return True


def _interface(text: str) -> Interface | None:
    try:
        found = ipaddress.ip_interface(text) if "/" in text else None
    except ValueError:
        return None
    return None if found is None or why_no_address(found) else found
