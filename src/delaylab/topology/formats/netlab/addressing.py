"""The addresses of links and loopbacks, as netlab gives them (its documents: `addressing`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

from delaylab.io.values import Json
from delaylab.spec.addresses import why_no_address
from delaylab.topology.formats.containerlab.tree import text
from delaylab.topology.formats.netlab.pools import (
    NUMBERS,
    VERSIONS,
    Network,
    Pools,
    Prefixes,
    network_of,
    number_of,
    written,
)
from delaylab.topology.formats.netlab.shape import LinkSaid, NodeSaid, below, is_off, is_on
from delaylab.topology.model import MapLink

Addresses = dict[str, tuple[str, ...]]
"""The addresses of the ends of a link, with prefixes, by node."""


@dataclass(frozen=True)
class Addressing:
    """The giving of addresses: pools, the nodes, and which of them are hosts or bridges."""

    pools: Pools
    nodes: Mapping[str, NodeSaid]
    hosts: Collection[str]

    def of_link(self, link: LinkSaid) -> Addresses:
        """Return the addresses of a link's ends; none if an end gets none, or they do not fit."""
        prefixes = self._prefixes(link)
        found: Addresses = {name: () for name, _ in link.ends}
        for version in VERSIONS:
            texts = self._of_version(link, version, prefixes)
            if not _fit(texts):
                return {}
            for (name, _), address in zip(link.ends, texts, strict=True):
                found[name] += (address,) if address else ()
        return found if all(found.values()) else {}

    def is_unnumbered(self, link: LinkSaid) -> bool:
        """Return True if a link, or an end of it, has an IP version without an address."""
        said = [link.said, *(of_end for _, of_end in link.ends)]
        keys: list[tuple[str, ...]] = [(version,) for version in VERSIONS]
        keys += [("prefix", version) for version in VERSIONS] + [("unnumbered",)]
        return any(is_on(each.get(key)) for each in said for key in keys)

    def loopback(self, node: NodeSaid) -> list[str]:
        """Return the addresses of a node's loopback, with prefixes; none if it has none."""
        said = below(node.said, "loopback")
        alone = said.pop((), None)
        if is_off(alone) or (node.name in self.hosts and not said and not is_on(alone)):
            return []
        found = self.pools.numbered(text(said.get(("pool",))) or "loopback", node.number)
        texts = []
        for version in VERSIONS:
            given, own = said.get((version,)), found.get(version)
            if own is not None and not is_off(given) and (is_on(given) or not text(given)):
                place = 0 if own.prefixlen == own.max_prefixlen else 1
                texts.append(f"{own[place]}/{own.prefixlen}")
            elif (at := _parsed(text(given))) is not None and at.version == NUMBERS[version]:
                texts += [text(given)] if why_no_address(at) is None else []
        return texts

    def router_id(self, node: NodeSaid) -> str:
        """Return the router ID of a node whose loopback has no IPv4 address."""
        found = self.pools.numbered("router_id", node.number).get("ipv4")
        return "" if found is None else str(found[0])

    def _kind(self, link: LinkSaid) -> str:
        """Return netlab's type of a link, by the number of its nodes."""
        if len(link.ends) > 2 or any(name in self.hosts for name, _ in link.ends):
            return "lan"
        return "p2p" if len(link.ends) == 2 else "stub"

    def _prefixes(self, link: LinkSaid) -> Prefixes:
        """Return the networks of a link: those that it says, else the next ones of its pool."""
        said, alone = below(link.said, "prefix"), link.said.get(("prefix",))
        if is_off(alone):
            return {}
        name = text(alone)
        named = self.pools.prefix(name) if name else None
        network = network_of(alone) if name and named is None else None
        own = {"ipv4": network} if network is not None else named or written(said)
        if own:
            return dict(own)
        if is_on(link.said.get(("unnumbered",))):
            return dict.fromkeys(VERSIONS)
        return self.pools.take(self.pools.first_of(self._pools_of(link)))

    def _pools_of(self, link: LinkSaid) -> list[str]:
        routers = sum(name not in self.hosts for name, _ in link.ends)
        role = text(link.said.get(("role",))) or ("stub" if routers <= 1 else "")
        return [text(link.said.get(("pool",))) or role, self._kind(link), "lan"]

    def _of_version(self, link: LinkSaid, version: str, prefixes: Prefixes) -> list[str]:
        """Return the address of each end of a link; "" for one that has none."""
        network = prefixes.get(version)
        places = self._places(link, network)
        texts = []
        for (_, said), place in zip(link.ends, places, strict=True):
            own = said.get((version,))
            given = "" if is_on(own) or is_off(own) else text(own)
            at = int(number_of(given) or place)
            if given and not number_of(given):
                length = "" if "/" in given or network is None else f"/{network.prefixlen}"
                texts.append(f"{given}{length}")
            elif network is None or is_on(own) or is_off(own) or at >= network.num_addresses:
                texts.append("")
            else:
                texts.append(f"{network[at]}/{network.prefixlen}")
        return texts

    def _places(self, link: LinkSaid, network: Network | None) -> list[int]:
        """Return the place of each end in the network, by netlab's rules for such a link."""
        names = [name for name, _ in link.ends]
        size = 0 if network is None else network.num_addresses
        start = 1 if size > 2 else 0
        kind = text(link.said.get(("type",))) or self._kind(link)
        wanted = text(link.said.get(("prefix", "allocation")))
        room = size - 2 if size > 2 else size
        most = max((self.nodes[name].number for name in names), default=0)
        by_place = {name: start + at for at, name in enumerate(sorted(names))}
        if wanted == "p2p" or (not wanted and (kind == "p2p" or (size == 2 and len(names) == 2))):
            return [by_place[name] for name in names]
        if size == 1:
            return [0 for _ in names]
        if wanted == "id_based" or (not wanted and most <= room):
            return [self.nodes[name].number for name in names]
        return [start + at for at, _ in enumerate(names)]


def _parsed(given: str) -> IPv4Interface | IPv6Interface | None:
    try:
        return ip_interface(given)
    except ValueError:
        return None


def _fit(texts: Sequence[str]) -> bool:
    """Return True for addresses of one network that nodes of a lab can have; "" is no address."""
    said = [each for each in texts if each]
    found = [each for text in said if "/" in text and (each := _parsed(text)) is not None]
    if len(found) < len(said) or any(why_no_address(each) for each in found):
        return False
    return len({each.network for each in found}) <= 1 and len({e.ip for e in found}) == len(found)


def shown(loopback: str) -> str:
    """Return an address of a loopback as a lab file has it: without the length if it is alone."""
    found = ip_interface(loopback)
    return str(found.ip) if found.network.prefixlen == found.max_prefixlen else str(found)


def versions(
    pools: Pools, links: Iterable[MapLink], loopbacks: Iterable[Sequence[str]]
) -> dict[str, Json]:
    """Return the lab's field `ip`, by the addresses that the topology has, and by its pools."""
    texts = [each for link in links for given in link.addresses.values() for each in given]
    texts += [each for given in loopbacks for each in given]
    found = {6 if ":" in each else 4 for each in texts}
    if not texts:
        of_pools = [pools.said.get(pool, {}) for pool in ("lan", "p2p")]
        found = {
            NUMBERS[version] for said in of_pools for version in VERSIONS if (version,) in said
        }
    return {} if found <= {4} else {"ip": sorted(found)}
