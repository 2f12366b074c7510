"""Pools of addresses, from which netlab takes the networks of links and the addresses of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TypeAlias

from delaylab.topology.formats.containerlab.tree import Tree, text
from delaylab.topology.formats.netlab.shape import Leaves, below, is_off, is_on

VERSIONS = ("ipv4", "ipv6")
NUMBERS: Mapping[str, int] = {"ipv4": 4, "ipv6": 6}
Network: TypeAlias = IPv4Network | IPv6Network
Prefixes: TypeAlias = dict[str, Network | None]
"""The network of each IP version; None: the version without addresses of its own (unnumbered)."""
BUILT_IN: Mapping[str, Leaves] = {
    "loopback": {("ipv4",): "10.0.0.0/24", ("prefix",): "32"},
    "router_id": {("ipv4",): "10.0.0.0/24", ("prefix",): "32"},
    "lan": {("ipv4",): "172.16.0.0/16", ("prefix",): "24"},
    "p2p": {("ipv4",): "10.1.0.0/16", ("prefix",): "30"},
    "vrf_loopback": {("ipv4",): "10.2.0.0/24", ("prefix",): "32"},
    "l2only": {},
}
"""Netlab's own pools; those of a topology override them value by value."""
OWN_LENGTHS: Mapping[str, tuple[str, int]] = {"ipv4": ("prefix", 24), "ipv6": ("prefix6", 64)}
"""The field of a pool that has the length of its networks, and what it is if left out."""
HOST_LENGTHS: Mapping[str, int] = {"ipv4": 32, "ipv6": 127}
"""The length from which on the first network of a pool is left out."""


@dataclass
class Pools:
    """The pools of a topology and its named prefixes, and how many networks are taken of each."""

    said: Mapping[str, Leaves]
    named: Mapping[str, Leaves]
    _taken: Counter[tuple[str, str]] = field(default_factory=Counter)
    _of_names: dict[str, Prefixes] = field(default_factory=dict)

    def first_of(self, names: Sequence[str]) -> str:
        """Return the first of these pools that there is."""
        return next((name for name in names if name in self.said), "lan")

    def take(self, pool: str) -> Prefixes:
        """Return the next networks of a pool."""
        found: Prefixes = {}
        for version in VERSIONS:
            number = self._taken[pool, version] = self._taken[pool, version] + 1
            self._put(found, pool, version, number)
        return found

    def numbered(self, pool: str, number: int) -> Prefixes:
        """Return the networks of a pool that are a node's, by the node's number."""
        found: Prefixes = {}
        for version in VERSIONS:
            self._put(found, pool, version, number)
        return found

    def whole(self, pool: str) -> list[Network]:
        """Return the networks that a pool has in all."""
        given = [network_of(self.said.get(pool, {}).get((version,))) for version in VERSIONS]
        return [each for each in given if each is not None]

    def prefix(self, name: str) -> Prefixes | None:
        """Return the networks of a prefix by its name; None if no prefix has this name."""
        if name not in self.named:
            return None
        if name not in self._of_names:
            said = self.named[name]
            pool = text(said.get(("pool",)))
            self._of_names[name] = {**(self.take(pool) if pool else {}), **written(said)}
        return self._of_names[name]

    def _put(self, found: Prefixes, pool: str, version: str, number: int) -> None:
        said = self.said.get(pool, {})
        given = said.get((version,))
        if is_on(said.get(("unnumbered",))) or is_on(given):
            found[version] = None
            return
        whole = network_of(given)
        if whole is None or whole.version != NUMBERS[version]:
            return
        where, usual = OWN_LENGTHS[version]
        usual = 32 if version == "ipv4" and "loopback" in pool else usual
        length = int(number_of(said.get((where,))) or usual)
        # Of single addresses, and of loopbacks, the first network is left out.
        skips = length >= HOST_LENGTHS[version] or pool == "loopback"
        network = _nth(whole, length, number if skips else number - 1)
        if network is not None:
            found[version] = network


def _nth(whole: Network, length: int, number: int) -> Network | None:
    """Return the network of a length that is at a place in another, from 0; None if none is."""
    if not whole.prefixlen <= length <= whole.max_prefixlen:
        return None
    if number >= 1 << (length - whole.prefixlen):
        return None
    first = int(whole.network_address) + (number << (whole.max_prefixlen - length))
    return ip_network((first, length))


def network_of(tree: Tree) -> Network | None:
    """Return a network that is written out; None for anything else."""
    try:
        return ip_network(text(tree), strict=False)
    except ValueError:
        return None


def number_of(tree: Tree) -> str:
    """Return a number of at most three digits, as a text; "" for anything else."""
    given = text(tree)
    return given if given.isdecimal() and len(given) <= 3 else ""


def written(said: Leaves) -> Prefixes:
    """Return the networks that a prefix writes out; None where it says `True`."""
    found: Prefixes = {}
    for version in VERSIONS:
        given = said.get((version,))
        if is_on(given):
            found[version] = None
        elif (network := network_of(given)) is not None:
            found[version] = network
    return found


def pools_of(addressing: Leaves, prefixes: Leaves) -> Pools:
    """Return the pools of a topology, by the values of its `addressing` and its `prefix`."""
    said = {name: dict(own) for name, own in BUILT_IN.items()}
    for (name, *path), tree in addressing.items():
        own = said.setdefault(name, {})
        if not path and text(tree):
            own[("ipv4",)] = tree
        elif path:
            own[tuple(path)] = tree
    for own in said.values():
        for version in VERSIONS:
            if is_off(own.get((version,))):
                del own[(version,)]
    named: dict[str, Leaves] = {"any": {("ipv4",): "0.0.0.0/0", ("ipv6",): "::/0"}}
    for key, _ in prefixes.items():
        if key:
            named[key[0]] = below(prefixes, key[0])
    for name, own in named.items():
        alone = own.pop((), None)
        if text(alone):
            named[name] = {("ipv4",): alone, **own}
    return Pools(said, named)
