"""A check of the addresses that a file gives routers' loopbacks."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from delaylab.spec.addresses import why_no_address
from delaylab.spec.lab import LabSpec
from delaylab.spec.source import Document, Location, Problems


def check_loopbacks(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse addresses that a loopback cannot have, and those of nodes that have no loopback."""
    networks: dict[ipaddress.IPv4Network | ipaddress.IPv6Network, str] = {}
    for index, link in enumerate(lab.links):
        for texts in link.given_addresses.values():
            for text in texts:
                if (given := _parsed(text)) is not None:
                    networks.setdefault(given.network, f"link {link.name or index}")
    owners: dict[str, str] = {}
    for name, spec in lab.nodes.items():
        where = (*at, "nodes", name, "loopback")
        for what, fix in _of_node(lab, name, owners):
            problems.errors.append(document.refuse(what, where, fix))
        for text in spec.loopback:
            found = _parsed(text)
            on = next((link for net, link in networks.items() if found and found.ip in net), None)
            if on is not None:
                what = f"the loopback of {name!r}, {text}, is in the network of {on}"
                problems.errors.append(document.refuse(what, where, "take another address"))


def given_loopbacks(lab: LabSpec, node: str) -> dict[int, str]:
    """Return the loopback's addresses that the file gives a node, with prefix, by IP version."""
    found = map(ipaddress.ip_interface, lab.nodes[node].loopback)
    return {each.version: str(each) for each in found}


def _parsed(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
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
        if given.network.prefixlen != given.network.max_prefixlen:
            yield f"a loopback has an address alone, not a network: {text}", f"write {given.ip}"
        elif (why := why_no_address(given)) is not None:
            yield f"no node can have the address {text}: {why}", "take another address"
        elif given.version not in lab.ip:
            yield f"the lab has no IPv{given.version}", f"say `ip: [{given.version}]`"
        elif given.version in versions:
            yield f"{name!r} has two loopback addresses of IPv{given.version}", "leave one out"
        elif (other := owners.setdefault(str(given.ip), name)) != name:
            yield f"{other!r} and {name!r} have the same loopback address, {text}", "change one"
        versions.add(given.version)
