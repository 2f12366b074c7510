"""Addresses that a topology writes out, and the IP versions that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network

from delaylab.io.values import Json
from delaylab.spec.addresses import why_no_address
from delaylab.topology.formats.containerlab.tree import Fields, text
from delaylab.topology.formats.netlab.shape import Leaves, LinkSaid, NodeSaid, is_off, leaves
from delaylab.topology.model import MapLink

VERSIONS = ("ipv4", "ipv6")


@dataclass
class WrittenAddresses:
    """The addresses of a topology's links, as far as its file has them."""

    nodes: Mapping[str, NodeSaid]
    names: Mapping[str, str]

    def addresses(self, link: LinkSaid) -> dict[str, tuple[str, ...]]:
        """Return the addresses of the ends of a link; none unless the file has all of IPv4."""
        found: dict[str, tuple[str, ...]] = {}
        for version in VERSIONS:
            texts = [
                _of_end(said, version) or self._of_prefix(link, index, version)
                for index, (_, said) in enumerate(link.ends)
            ]
            if not _fit(texts) or (version == "ipv6" and not found):
                continue
            for (name, _), address in zip(link.ends, texts, strict=True):
                found[self.names[name]] = (*found.get(self.names[name], ()), address)
        return found

    def _of_prefix(self, link: LinkSaid, index: int, version: str) -> str:
        """Return a node's address of a link's prefix: its number, or its place among two."""
        given = text(link.said.get(("prefix", version)))
        if version == "ipv4":
            given = given or text(link.said.get(("prefix",)))
        try:
            network = ip_network(given)
        except ValueError:
            return ""
        name = link.ends[index][0]
        place = index + 1 if len(link.ends) == 2 else self.nodes[name].number
        if place >= network.num_addresses:
            return ""
        return f"{network[place]}/{network.prefixlen}"


def _of_end(said: Leaves, version: str) -> str:
    found = text(said.get((version,)))
    return found if "/" in found else ""


def _fit(texts: Sequence[str]) -> bool:
    """Return True for addresses of one network that nodes of a lab can have."""
    try:
        found = [ip_interface(each) for each in texts]
    except ValueError:
        return False
    if any(why_no_address(each) for each in found):
        return False
    return len({each.network for each in found}) == 1 and len({e.ip for e in found}) == len(found)


def versions(whole: Fields, general: Leaves, links: Sequence[MapLink]) -> dict[str, Json]:
    """Return the lab's field `ip`, where the topology says which versions its links have."""
    pools: Leaves = {key[1:]: each for key, each in general.items() if key[0] == "addressing"}
    for name, tree in whole.items():
        head, *rest = name.split(".")
        if head == "addressing":
            pools |= leaves(tree, tuple(rest))
    of_links = [pools.get((pool, "ipv4")) for pool in ("lan", "p2p")]
    given = any(
        ":" in each for link in links for texts in link.addresses.values() for each in texts
    )
    if not given and not any(key[-1:] == ("ipv6",) for key in pools):
        return {}
    return {"ip": [6] if all(map(is_off, of_links)) else [4, 6]}
