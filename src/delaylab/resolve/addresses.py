"""Addresses of a lab: those that the file gives, and others assigned by the names of link and node.

IPv4 addresses come from 198.18.0.0/15, which RFC 2544 reserves for benchmarks of network devices;
IPv6 addresses from the unique local prefix fd64:656c:6179::/48 (RFC 4193).

The hash of a name says where in the pool its block should be. If that block is taken by an earlier
link of the file, the next free one is. So a link that is added at the end changes no address, and
one that is removed changes another's only if both had the same place: in a lab of 100 links once in
several hundred removals. With `addresses: places` the place of a node says where in the pool, and
the hash of the name only where in the part for that place (cells.py).
"""

from __future__ import annotations

import hashlib
import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from delaylab.errors import BadInput
from delaylab.resolve.agent_names import host_agent, node_agent
from delaylab.resolve.cells import BITS, cell_of
from delaylab.resolve.lab import Lab, Link
from delaylab.spec.kinds import NodeSpec
from delaylab.spec.loopbacks import given_loopbacks
from delaylab.spec.routing.model import RoutingSpec

POOL4 = ipaddress.ip_network("198.18.0.0/15")
POOL6 = ipaddress.ip_network("fd64:656c:6179::/48")
BROADCAST_AT_LEAST = 256
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class _Area:
    """The part of a pool where blocks of one use should be: its first address and its size."""

    start: int
    size: int

    def place(self, name: str, size: int, cell: int | None) -> int:
        """Return the first address of the block that a name has here, if it is free.

        It is in the part of the area that is a cell's, if there is one.
        """
        blocks = self.size // size
        if cell is None or blocks < 1 << BITS:
            return self.start + _hashed(name, blocks) * size
        part = blocks >> BITS
        return self.start + (cell * part + _hashed(name, part)) * size


def _area(text: str) -> _Area:
    network = ipaddress.ip_network(text)
    return _Area(int(network[0]), network.num_addresses)


LOOPBACKS4, LANS4 = _area("198.18.0.0/17"), _area("198.18.128.0/17")
CABLES4 = _area("198.19.0.0/16")
LINKS6, LOOPBACKS6 = _area("fd64:656c:6179::/49"), _area("fd64:656c:6179:8000::/96")


def with_addresses(lab: Lab) -> Lab:
    """Return a lab whose links and routers have addresses. Nodes of one stack share theirs.

    Raises BadInput if the links need more addresses than a pool has.
    """
    given = {
        name: {node: tuple(texts) for node, texts in link.given_addresses.items()}
        for name, link in zip(lab.links, lab.written.links, strict=True)
        if link.addresses
    }
    own = {node: given_loopbacks(lab.written, node) for node in lab.nodes}
    of_loopbacks = {node: {node: tuple(each.values())} for node, each in own.items() if each}
    every = {**given, **{f"lo of {node}": each for node, each in of_loopbacks.items()}}
    blocks4, blocks6 = _Blocks(every, POOL4), _Blocks(every, POOL6)
    stacks = {node: _stack(lab, node) for node in lab.nodes}
    links = {}
    for name, link in lab.links.items():
        if link.unnumbered:
            links[name] = link
            continue
        addresses = given.get(name) or _assigned(lab, link, stacks, blocks4, blocks6)
        links[name] = replace(link, addresses=addresses)
    routers: dict[str, str] = {}
    for node, spec in lab.nodes.items():
        if spec.forwards and not _goes_without(spec):
            routers.setdefault(stacks[node], node)
    loopbacks = {
        owner: tuple(_loopback(lab, owner, _cell(lab, [node]), own[node], blocks4, blocks6))
        for owner, node in routers.items()
    }
    of_nodes = {node: loopbacks[stacks[node]] for node in lab.nodes if stacks[node] in routers}
    for name, link in links.items():
        if link.unnumbered:
            links[name] = replace(link, addresses={n: _lent(of_nodes[n]) for n in link.members})
    return replace(lab, links=links, loopbacks=of_nodes)


def _goes_without(spec: NodeSpec) -> bool:
    """Return True if a router's OSPF says that it has no loopback address."""
    routing = spec.routing if isinstance(spec.routing, RoutingSpec) else None
    return routing is not None and routing.ospf is not None and not routing.ospf.loopback


def _lent(loopback: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses of a loopback that the ends of unnumbered links have, too: of IPv4."""
    return tuple(text for text in loopback if ":" not in text)


def _stack(lab: Lab, node: str) -> str:
    """Return the key of a node's stack, and so of its addresses; native nodes share one."""
    return host_agent(lab.host_of(node)) if lab.nodes[node].kind == "native" else node_agent(node)


def _assigned(
    lab: Lab, link: Link, stacks: Mapping[str, str], blocks4: _Blocks, blocks6: _Blocks
) -> dict[str, tuple[str, ...]]:
    addresses: dict[str, list[str]] = {stacks[node]: [] for node in link.members}
    cell = _cell(lab, link.members)
    if 4 in lab.ip:
        _on_link4(link, cell, blocks4, addresses)
    if 6 in lab.ip:
        _on_link6(link, cell, blocks6, addresses)
    return {node: tuple(addresses[stacks[node]]) for node in link.members}


def _cell(lab: Lab, nodes: Iterable[str]) -> int | None:
    """Return the cell that decides the addresses of nodes; None if names decide them."""
    return cell_of(lab.nodes[node].at for node in nodes) if lab.addresses_by == "places" else None


def _on_link4(
    link: Link, cell: int | None, blocks: _Blocks, addresses: Mapping[str, list[str]]
) -> None:
    if link.is_pair:
        start = blocks.take(
            2, CABLES4.place(link.name, 2, cell)
        )  # RFC 3021: a /31 has no network address
        for number, texts in enumerate(addresses.values()):
            # `!s` skips `__format__` of addresses, which matches a regular expression each time.
            texts.append(f"{ipaddress.IPv4Address(start + number)!s}/31")
        return
    size = max(BROADCAST_AT_LEAST, _power_of_two(len(addresses) + 2))
    start, length = blocks.take(size, LANS4.place(link.name, size, cell)), 33 - size.bit_length()
    for texts, number in zip(addresses.values(), _numbers(addresses, size - 2), strict=True):
        texts.append(f"{ipaddress.IPv4Address(start + number)!s}/{length}")


def _on_link6(
    link: Link, cell: int | None, blocks: _Blocks, addresses: Mapping[str, list[str]]
) -> None:
    start = blocks.take(1 << 64, LINKS6.place(link.name, 1 << 64, cell))
    numbers = range(1, 3) if link.is_pair else _numbers(addresses, 1 << 32)
    for texts, number in zip(addresses.values(), numbers, strict=False):
        texts.append(f"{ipaddress.IPv6Address(start + number)!s}/64")


def _numbers(owners: Mapping[str, list[str]], most: int) -> list[int]:
    """Return the number of each owner on a broadcast link, from 1 to `most`, by its name."""
    taken = dict[int, None]()
    for owner in owners:
        number = _hashed(owner, most) + 1
        while number in taken:
            number = number % most + 1
        taken[number] = None
    return list(taken)


def _loopback(
    lab: Lab,
    owner: str,
    cell: int | None,
    given: Mapping[int, str],
    blocks4: _Blocks,
    blocks6: _Blocks,
) -> list[str]:
    """Return the addresses of a router's loopback: those that are `given`, and others assigned."""
    found = [given[version] for version in (4, 6) if version in given]
    if 4 in lab.ip and 4 not in given:
        first = blocks4.take(1, LOOPBACKS4.place(owner, 1, cell))
        found.append(f"{ipaddress.IPv4Address(first)!s}/32")
    if 6 in lab.ip and 6 not in given:
        first = blocks6.take(1, LOOPBACKS6.place(owner, 1, cell))
        found.append(f"{ipaddress.IPv6Address(first)!s}/128")
    return sorted(found, key=lambda text: ":" in text)


class _Blocks:
    """Blocks of a pool of addresses that meet no network that the file gives, and no other."""

    def __init__(self, of_links: Mapping[str, Mapping[str, Sequence[str]]], pool: Network) -> None:
        of_ends = chain.from_iterable(each.values() for each in of_links.values())
        given = {text for texts in of_ends for text in texts}
        networks = [ipaddress.ip_interface(text).network for text in given]
        own = [each for each in networks if each.version == pool.version]
        # In rising order, and so are their ends: those that meet are one.
        self._starts: list[int] = []
        self._ends: list[int] = []
        for first, end in sorted((int(each[0]), int(each[-1]) + 1) for each in own):
            if self._ends and first < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(first)
                self._ends.append(end)
        self._pool, self._first, self._end = pool, int(pool[0]), int(pool[-1]) + 1

    def take(self, size: int, place: int) -> int:
        """Take the first free block of a size from `place` on, or else from the pool's first on.

        Returns its first address. Raises BadInput if the pool has no such block any more.
        """
        for start in (place, self._first):
            found = self._free(size, start)
            if found + size <= self._end:
                at = bisect_right(self._starts, found)
                self._starts.insert(at, found)
                self._ends.insert(at, found + size)
                return found
        what = f"the lab's links need more addresses than {self._pool} has"
        raise BadInput(what, fix="give `addresses:` on its larger links")

    def _free(self, size: int, start: int) -> int:
        """Return the first address of the first free block of a size from `start` on."""
        at = max(bisect_right(self._starts, start) - 1, 0)
        while at < len(self._starts) and self._starts[at] < start + size:
            if self._ends[at] > start:
                start = -(-self._ends[at] // size) * size
            at += 1
        return start


def _hashed(name: str, below: int) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) % below


def _power_of_two(at_least: int) -> int:
    return 1 << (at_least - 1).bit_length()
