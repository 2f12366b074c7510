"""Addresses of a lab's links: those that the file gives, and others assigned in order.

IPv4 addresses come from 198.18.0.0/15, which RFC 2544 reserves for benchmarks of network devices;
IPv6 addresses from the unique local prefix fd64:656c:6179::/48 (RFC 4193).
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterator

from delaylab.errors import BadInput
from delaylab.spec.lab import LabSpec

POOL4 = ipaddress.ip_network("198.18.0.0/15")
POOL6 = ipaddress.ip_network("fd64:656c:6179::/48")
BROADCAST_AT_LEAST = 256
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

LinkAddresses = dict[str, list[str]]
"""Node -> its addresses with prefix on one link."""


def assign(lab: LabSpec, stacks: dict[str, str]) -> list[LinkAddresses]:
    """Return one mapping per link; nodes with the same entry in `stacks` share addresses.

    Raises BadInput if the links need more addresses than a pool has.
    """
    blocks4, blocks6 = _Blocks(lab, POOL4), _Blocks(lab, POOL6)
    result: list[LinkAddresses] = []
    for index, link in enumerate(lab.links):
        given = {node: [address] for node, address in link.addresses.items()}
        if given:
            result.append(given)
            continue
        owners = list(dict.fromkeys(stacks[node] for node in link.members))
        addresses: dict[str, list[str]] = {owner: [] for owner in owners}
        if 4 in lab.ip:
            size = 2 if link.between else max(BROADCAST_AT_LEAST, _power_of_two(len(owners) + 2))
            start = blocks4.take(size)
            for owner, text in zip(owners, _hosts4(start, size), strict=False):
                addresses[owner].append(text)
        if 6 in lab.ip:
            base = blocks6.take(1 << 64, int(POOL6.network_address) + (index << 64))
            for number, owner in enumerate(owners, start=1):
                addresses[owner].append(f"{ipaddress.IPv6Address(base + number)}/64")
        result.append({node: addresses[stacks[node]] for node in link.members})
    return result


class _Blocks:
    """Blocks of a pool of addresses, in rising order, that meet no network that the file gives."""

    def __init__(self, lab: LabSpec, pool: Network) -> None:
        given = {text for link in lab.links for text in link.addresses.values()}
        networks = [ipaddress.ip_interface(text).network for text in given]
        self._given = sorted(
            (int(each[0]), int(each[-1])) for each in networks if each.version == pool.version
        )
        self._passed = 0
        self._pool, self._next = pool, int(pool[0])

    def take(self, size: int, at_least: int = 0) -> int:
        """Take the next block of a size, from an address on; return its first address.

        Raises BadInput if the pool has no such block any more.
        """
        start = -(-max(self._next, at_least) // size) * size
        while self._passed < len(self._given):
            first, last = self._given[self._passed]
            if last < start:
                self._passed += 1
            elif first < start + size:
                start = -(-(last + 1) // size) * size
            else:
                break
        self._next = start + size
        if self._next > int(self._pool[-1]) + 1:
            what = f"the lab's links need more addresses than {self._pool} has"
            raise BadInput(what, fix="give `addresses:` on its larger links")
        return start


def mac(lab: str, *parts: str) -> str:
    """Return a fixed, locally administered MAC address for these names.

    A random one in each run would leave stale ARP entries.
    """
    digest = hashlib.blake2b("/".join((lab, *parts)).encode(), digest_size=5).digest()
    return "02:" + digest.hex(":")


def _hosts4(start: int, size: int) -> Iterator[str]:
    prefix = 33 - size.bit_length()
    first = start if size == 2 else start + 1  # RFC 3021: a /31 has no network address
    for number in range(size if size == 2 else size - 2):
        yield f"{ipaddress.IPv4Address(first + number)}/{prefix}"


def _power_of_two(at_least: int) -> int:
    return 1 << (at_least - 1).bit_length()
