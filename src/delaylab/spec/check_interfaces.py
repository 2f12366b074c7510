"""Checks of the interfaces of hosts, and of the links that name one."""

from __future__ import annotations

from collections import Counter

from delaylab.spec.lab import HostSpec, LabSpec
from delaylab.spec.source import Document, Location, Problems

BRIDGE = "br-"
"""The beginning of the names of bridges on a host, among which its interfaces are."""
LEAST_ACROSS = 2
"""The interfaces that a packet needs to leave a host by one and come back by another."""


def check_host_interfaces(
    lab: LabSpec, document: Document, at: Location, problems: Problems
) -> None:
    """Refuse interfaces that a host cannot have, and links that leave by one that is not there."""
    for name, host in lab.hosts.items():
        where = (*at, "hosts", name)
        if host.interfaces and host.uplink:
            what = f"host {name!r} has `interfaces`, which links share, and an `uplink` for each"
            fix = "say one; `rate` limits a link of its own"
            problems.errors.append(document.refuse(what, (*where, "uplink"), fix))
        bridge = next((each for each in host.interfaces if each.startswith(BRIDGE)), None)
        if bridge:
            what = f"an interface named {bridge!r}: bridges of links are named so"
            place = (*where, "interfaces", bridge)
            problems.errors.append(document.refuse(what, place, "give it another name"))
        most = max(Counter(each.domain for each in host.interfaces.values()).values(), default=0)
        if host.across and most < LEAST_ACROSS:
            what = f"`across` needs two interfaces of one domain, and host {name!r} has {most}"
            fix = "name two, such as `interfaces: {eth1: 1Gbit, eth2: 1Gbit}`"
            problems.errors.append(document.refuse(what, (*where, "across"), fix))
    for index, link in enumerate(lab.links):
        for of, interface in link.interfaces.items():
            found = _why_not(lab, link.members, of, interface)
            if found:
                place = (*at, "links", index, "interfaces", of)
                problems.errors.append(document.refuse(found[0], place, found[1]))


def _why_not(lab: LabSpec, members: list[str], name: str, interface: str) -> tuple[str, str] | None:
    """Return why a link cannot leave a host by an interface, and what to do; None if it can."""
    host = lab.hosts.get(name)
    if host is None:
        return f"no host {name!r}", f"hosts: {', '.join(lab.hosts) or 'none'}"
    if interface not in host.interfaces:
        return _no_interface(host, name, interface)
    if host.across:
        what = f"host {name!r} has `across`: each of its nodes leaves by an interface of its own"
        return what, "leave the name out"
    # A method may still choose the hosts, by `place`; a link of a node with `count` joins several.
    known = lab.place is None and all(node in lab.nodes for node in members)
    hosts = {lab.host_of(node) for node in members} if known else set()
    if known and (name not in hosts or len(hosts) == 1):
        return f"the link does not leave host {name!r}", "leave the name out"
    return None


def _no_interface(host: HostSpec, name: str, interface: str) -> tuple[str, str]:
    known = ", ".join(host.interfaces) or "none; name them in `interfaces` of the host"
    return f"host {name!r} has no interface {interface!r}", f"its interfaces: {known}"
