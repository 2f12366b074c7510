"""The routes that are right or wrong by the network: those to the lab's addresses."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_network


class JudgedPrefixes:
    """The prefixes that are compared with the right ones: the networks of a lab, and parts of them.

    A node may have other addresses, and routes to them. Nobody knows whether these are right, so
    they are neither. The same goes for `ignored` prefixes, which no routing protocol sets. `static`
    prefixes, to which daemons have static routes, are compared, but not their parts.
    """

    def __init__(
        self, networks: Iterable[str], ignored: Iterable[str] = (), static: Iterable[str] = ()
    ) -> None:
        found = [ip_network(each) for each in set(networks)]
        self._networks = frozenset(
            (each.version, each.prefixlen, int(each.network_address)) for each in found
        )
        self._lengths = sorted({(each.version, each.prefixlen) for each in found})
        self._known = dict.fromkeys(static, True) | dict.fromkeys(ignored, False)

    def __call__(self, prefix: str) -> bool:
        """Return True if a route to a prefix is right or wrong."""
        known = self._known.get(prefix)
        if known is None:
            known = self._known[prefix] = self._is_within(prefix)
        return known

    def _is_within(self, prefix: str) -> bool:
        found = ip_network(prefix)
        first, bits = int(found.network_address), found.max_prefixlen
        return any(
            (version, length, first >> (bits - length) << (bits - length)) in self._networks
            for version, length in self._lengths
            if version == found.version and length <= found.prefixlen
        )
