"""A check of the addresses that a file gives routers' loopbacks."""

from __future__ import annotations

import ipaddress
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from delaylab.spec.addresses import Interface, why_no_address
from delaylab.spec.lab import LabSpec
from delaylab.spec.source import Document, Location, Problems


@dataclass
class _Taken:
    """The networks that are taken, each with its owner."""

    _owners: dict[tuple[int, int, int], str] = field(default_factory=dict)
    """(version, prefix length, first address) -> the owner."""
    _firsts: list[tuple[int, int, int]] = field(default_factory=list)
    """(version, first address, prefix length), in rising order."""
    _lengths: set[tuple[int, int]] = field(default_factory=set)

    def take(self, given: Interface, owner: str) -> None:
        """Take the network of an address, unless it is taken."""
        version, length, first = _key(given)
        if (version, length, first) not in self._owners:
            self._owners[version, length, first] = owner
            self._lengths.add((version, length))
            insort(self._firsts, (version, first, length))

    def owner(self, given: Interface) -> str | None:
        """Return the owner of a network that overlaps that of an address; None if there is none."""
        version, length, first = _key(given)
        bits = given.max_prefixlen
        for known, wide in self._lengths:
            if known == version and wide <= length:
                around = first >> (bits - wide) << (bits - wide)
                if (found := self._owners.get((version, wide, around))) is not None:
                    return found
        at = bisect_left(self._firsts, (version, first, 0))
        if at < len(self._firsts):
            other, inner, narrow = self._firsts[at]
            if other == version and inner <= int(given.network[-1]):
                return self._owners[version, narrow, inner]
        return None


def _key(given: Interface) -> tuple[int, int, int]:
    return given.version, given.network.prefixlen, int(given.network.network_address)


def check_loopbacks(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse addresses that a loopback cannot have, and those of nodes that have no loopback.

    All packets to the network of a loopback stay in its router, so no other may be in it.
    """
    taken = _Taken()
    for index, link in enumerate(lab.links):
        for texts in link.given_addresses.values():
            for text in texts:
                if (given := _parsed(text)) is not None:
                    taken.take(given, f"link {link.name or index}")
    owners: dict[str, str] = {}
    for name, spec in lab.nodes.items():
        where = (*at, "nodes", name, "loopback")
        wrong = [*_of_node(lab, name, owners)]
        for what, fix in wrong:
            problems.errors.append(document.refuse(what, where, fix))
        own = {} if wrong else {text: ipaddress.ip_interface(text) for text in spec.loopback}
        for text, given in own.items():
            if (on := taken.owner(given)) is not None:
                what = f"the loopback of {name!r}, {text}, is in the network of {on}"
                problems.errors.append(document.refuse(what, where, "take another address"))
            taken.take(given, f"the loopback of {name!r}")


def given_loopbacks(lab: LabSpec, node: str) -> dict[int, str]:
    """Return the loopback's addresses that the file gives a node, with prefix, by IP version."""
    found = map(ipaddress.ip_interface, lab.nodes[node].loopback)
    return {each.version: str(each) for each in found}


def _parsed(text: str) -> Interface | None:
    """Return an address with its prefix; None if it is none, which another check says."""
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None


def _of_node(lab: LabSpec, name: str, owners: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the addresses of a node, each with a remedy."""
    spec = lab.nodes[name]
    if spec.loopback and not spec.forwards:
        yield f"{name!r} is no router, and has no loopback's address", "say `forwards: true` of it"
    if spec.loopback and spec.count is not None:
        yield f"{name!r} stands for many nodes (`count:`)", "leave `loopback` out"
    if spec.loopback and spec.kind == "native":
        yield f"{name!r} of kind native has this machine's loopback", "leave `loopback` out"
    versions: set[int] = set()
    for text in spec.loopback:
        try:
            given = ipaddress.ip_interface(text)
        except ValueError:
            yield f"{text!r} is no address", "write one such as 10.0.0.1"
            continue
        if (why := why_no_address(given)) is not None:
            yield f"no node can have the address {text}: {why}", "take another address"
        elif given.version not in lab.ip:
            yield f"the lab has no IPv{given.version}", f"say `ip: [{given.version}]`"
        elif given.version in versions:
            yield f"{name!r} has two loopback addresses of IPv{given.version}", "leave one out"
        elif (other := owners.setdefault(str(given.ip), name)) != name:
            yield f"{other!r} and {name!r} have the same loopback address, {text}", "change one"
        versions.add(given.version)
