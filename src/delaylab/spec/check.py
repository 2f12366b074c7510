"""Checks of a lab file across its fields: names must exist and addresses must differ."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterator
from functools import partial

from delaylab.spec.addresses import why_no_address
from delaylab.spec.cards import in_words, largest_mtu
from delaylab.spec.check_devices import check_devices
from delaylab.spec.check_interfaces import check_host_interfaces
from delaylab.spec.conditions.check import check_conditions
from delaylab.spec.counts import check_counts
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.loopbacks import check_loopbacks
from delaylab.spec.mtus import stated
from delaylab.spec.names import (
    NamedLinks,
    Names,
    counted,
    links_of,
    named_links,
    nodes_made,
    origins,
)
from delaylab.spec.names import names as names_in
from delaylab.spec.reserved import check_reserved
from delaylab.spec.routing.check import check_routing
from delaylab.spec.routing.static_routes import DEFAULT, is_name
from delaylab.spec.source import Document, Location, Problems
from delaylab.spec.this_machine import LOCAL_MACHINE
from delaylab.spec.timeline.check import check_events


def check_lab(lab: LabSpec, document: Document, at: Location = ()) -> None:
    """Raise BadInput, with the lines, for the errors in a lab.

    What builds on hosts, nodes and links is checked only once these are right.
    """
    check_counts(lab, document, at)
    problems = Problems()
    _check_loopback(lab, document, at, problems)
    _check_hosts(lab, document, at, problems)
    check_reserved(lab, document, at, problems)
    _check_routes(lab, document, at, problems)
    _check_links(lab, document, at, problems)
    problems.report()
    check_host_interfaces(lab, document, at, problems)
    links = named_links(lab)
    stands_for = links_of(lab, links)
    problems.gather(lambda: _check_link_names(links, stands_for, document, at))
    check_devices(lab, links, stands_for, document, at, problems)
    _check_addresses(lab, document, at, problems)
    check_loopbacks(lab, document, at, problems)
    check_routing(lab, stands_for, document, at, problems)
    check_conditions(lab, links, document, at, problems)
    _check_interfaces(lab, document, at, problems)
    problems.report()
    _check_ways_outside(lab, document, at, problems)
    check_events(lab, stands_for, document, at, problems)
    problems.report()


OUTSIDE = ipaddress.ip_network("10.0.2.0/24")
"""The network of a way outside (slirp4netns(1), `--cidr`)."""
LOOPBACK = frozenset({"localhost", "ip6-localhost"})
"""Names that every system resolves to its own loopback (RFC 6761, section 6.3)."""


def _check_loopback(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse names of nodes, and of links in `NODE.LINK`, that lead to the system asking."""
    named = [((*at, "nodes", name), "node", name) for name in lab.nodes]
    named += [
        ((*at, "links", index, "name"), "link", link.name)
        for index, link in enumerate(lab.links)
        if link.name
    ]
    for where, what, name in named:
        if name in LOOPBACK:
            text = f"a {what} named {name!r}: programs take that for the system that they run on"
            problems.errors.append(document.refuse(text, where, f"give the {what} another name"))


def _check_hosts(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    made = Counter(each for several in nodes_made(lab).values() for each in several)
    twice = next((name for name in lab.nodes if made[name] > 1), None)
    if twice:
        what = f"a `count:` makes a second node {twice!r}"
        problems.errors.append(document.refuse(what, (*at, "nodes", twice)))
    if lab.place is not None and not lab.hosts:
        what = "`place` chooses among hosts, and the file has none"
        problems.errors.append(document.refuse(what, (*at, "place"), "name `hosts:`"))
    _check_machines(lab, document, at, problems)
    for name, node in lab.nodes.items():
        where = (*at, "nodes", name)
        if node.host is not None and node.host not in lab.hosts:
            known = ", ".join(lab.hosts) or "none; leave `host` out"
            what = f"no host {node.host!r} (hosts: {known})"
            problems.errors.append(document.refuse(what, (*where, "host")))
        if node.host is None and len(lab.hosts) > 1 and lab.place is None:
            fix = f"say `host:`: {', '.join(lab.hosts)}; or `place: auto` for all"
            problems.errors.append(document.refuse(f"node {name!r} has no host", where, fix))


def _check_machines(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse hosts on machines that are not there, and what cannot be on another machine."""
    if LOCAL_MACHINE in lab.machines:
        what = f"the name {LOCAL_MACHINE!r} is reserved for this machine"
        place = (*at, "machines", LOCAL_MACHINE)
        problems.errors.append(document.refuse(what, place, "give it another name"))
    targets: dict[str, str] = {}
    for name, machine in lab.machines.items():
        if machine.interfaces and lab.data_plane != "ethernet":
            what = f"machine {name!r} has `interfaces`, which only `data_plane: ethernet` uses"
            problems.errors.append(document.refuse(what, (*at, "machines", name, "interfaces")))
        other = targets.setdefault(machine.ssh, name)
        if other != name:
            what = f"machines {other!r} and {name!r} are one: both are reached as {machine.ssh}"
            problems.errors.append(document.refuse(what, (*at, "machines", name, "ssh")))
    for name, host in lab.hosts.items():
        if host.machine is not None and host.machine not in lab.machines:
            known = ", ".join(lab.machines) or "none; name them in `machines:`"
            what = f"no machine {host.machine!r} (machines: {known})"
            problems.errors.append(document.refuse(what, (*at, "hosts", name, "machine")))
    _check_symmetric(lab, document, at, problems)


def _check_symmetric(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse `symmetric` where it says nothing: between two others, both machines must have it."""
    used = {host.machine for host in lab.hosts.values()}
    stated = [name for name, each in lab.machines.items() if each.symmetric and name in used]
    others = [name for name in lab.machines if name in used and name not in stated]
    if len(stated) == 1 and others and None not in used:
        what = f"`symmetric` of {stated[0]!r} alone says nothing of the way to {others[0]!r}"
        fix = f"state it of {others[0]!r}, too, or take it out"
        place = (*at, "machines", stated[0], "symmetric")
        problems.errors.append(document.refuse(what, place, fix))


def _check_routes(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse routes whose destination or next hop is no node, or stands for many."""
    known = names_in(lab)
    for name, node in lab.nodes.items():
        for index, route in enumerate(node.routes):
            where = (*at, "nodes", name, "routes", index)
            ends = [("to", route.to), *(("via", via.partition(".")[0]) for via in route.via)]
            for field, end in ends:
                if is_name(end) and end != DEFAULT and len(known.get(end, ())) != 1:
                    what = f"{end!r} stands for many nodes" if end in known else f"no node {end!r}"
                    fix = f"name one: {known[end][0]}" if known.get(end) else ""
                    problems.errors.append(document.refuse(what, (*where, field), fix))


def _check_ways_outside(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse addresses in the network of the interface of a way outside."""
    if not any(node.leads_outside for node in lab.nodes.values()):
        return
    for index, link in enumerate(lab.links):
        for node, text in _each_address(link):
            given = ipaddress.ip_interface(text).network
            if given.version == OUTSIDE.version and given.overlaps(OUTSIDE):
                where = (*at, "links", index, "addresses", node)
                what = f"{text} is in {OUTSIDE}, the network of the interface that `nat` makes"
                problems.errors.append(document.refuse(what, where, "take other addresses"))


def _check_interfaces(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    """Refuse an interface of this machine that is two nodes, and one that is not on one link."""
    owners: dict[str, str] = {}
    for name, node in lab.nodes.items():
        if node.outside is None:
            continue
        where = (*at, "nodes", name, "interface")
        owner = owners.setdefault(node.outside, name)
        links = [link for link in lab.links if name in link.members]
        if owner != name:
            what = f"{node.outside} is node {owner!r}, too"
            problems.errors.append(document.refuse(what, where, "name an interface once"))
        elif len(links) != 1:
            what = f"node {name!r}, which is an interface, is on {len(links)} links"
            problems.errors.append(document.refuse(what, where, "join it to one link"))


def _check_links(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    known = names_in(lab)
    for index, link in enumerate(lab.links):
        where = (*at, "links", index)
        problems.gather(partial(_check_members, lab, link, known, document, where))
        problems.gather(partial(_check_mtu, lab, link, document, where))


def _check_members(
    lab: LabSpec, link: LinkSpec, known: Names, document: Document, where: Location
) -> None:
    for position, member in enumerate(link.members):
        if member not in known:
            raise document.refuse(
                f"the link joins {member!r}, which is not a node",
                (*where, link.field, position),
                f"nodes: {', '.join(lab.nodes)}",
            )
    joined = [each for member in link.members for each in known[member]]
    if len(set(joined)) < len(joined):
        twice = next(each for each in joined if joined.count(each) > 1)
        raise document.refuse(f"the link joins {twice!r} with itself", where)
    stranger = next((n for n in link.addresses if n not in joined), None)
    if stranger:
        raise document.refuse(
            f"an address for {stranger!r}, which is not on this link",
            (*where, "addresses", stranger),
        )
    by_end = {"ospf": link.ospf, "isis": link.isis, "cost": link.cost}
    if isinstance(link.cost, dict) and not _has_daemons(lab):
        what = "`cost` of one end is for routing daemons, and delaylab sets the routes of this lab"
        raise document.refuse(what, (*where, "cost"), "say one cost, or add `routing:`")
    for field, said in by_end.items():
        for node in said if isinstance(said, dict) else ():
            if node not in joined and node not in link.members:
                fix = f"members: {', '.join(link.members)}"
                raise document.refuse(f"{node!r} is not on this link", (*where, field, node), fix)
    _check_counted(lab, link, document, where)


def _has_daemons(lab: LabSpec) -> bool:
    return lab.routing is not None or any(spec.has_daemons for spec in lab.nodes.values())


def _check_mtu(lab: LabSpec, link: LinkSpec, document: Document, at: Location) -> None:
    """Refuse an MTU that a card of the link's nodes cannot have."""
    from_file, mtu = origins(lab), stated(lab.mtu, link)
    if mtu is None:
        return
    for node in dict.fromkeys(from_file[name] for name in link.members if name in from_file):
        most = largest_mtu(lab.nodes[node])
        if mtu > most:
            card = in_words(lab.nodes[node])
            what = f"the card of node {node!r} ({card}) takes an MTU of {most} at most"
            fix = "give the link a smaller `mtu:`, or the node another kind or `nic:`"
            where = (*at, "mtu") if link.mtu is not None else at
            raise document.refuse(what, where, fix)


def _check_link_names(
    links: NamedLinks, stands_for: Names, document: Document, at: Location
) -> None:
    names: set[str] = set()
    for index, (name, _) in enumerate(links):
        for each in stands_for[name]:
            if each in names:
                fix = "name one of them anew"
                raise document.refuse(f"two links are named {each!r}", (*at, "links", index), fix)
            names.add(each)


def _check_counted(lab: LabSpec, link: LinkSpec, document: Document, at: Location) -> None:
    """Raise BadInput for links and addresses that a node with `count:` cannot have.

    Such a node is joined point-to-point to another of its sort only one by one, if both stand for
    equally many, and its addresses are assigned.
    """
    many = counted(lab, link)
    if many and link.addresses:
        raise document.refuse(
            f"{next(iter(many))!r} stands for many nodes (`count:`)", at, "leave `addresses:` out"
        )
    if link.between and len(set(many.values())) > 1:
        both = " and ".join(map(repr, many))
        fix = "give them the same `count:`, or join them by a broadcast link (`join:`)"
        raise document.refuse(f"{both} both stand for many nodes (`count:`)", at, fix)


def _check_addresses(lab: LabSpec, document: Document, at: Location, problems: Problems) -> None:
    owners: dict[str, str] = {}
    from_file = origins(lab)
    for index, link in enumerate(lab.links):
        if not link.addresses:
            continue
        where = (*at, "links", index)
        check = partial(_check_addresses_of, lab, link, owners, from_file)
        problems.gather(partial(check, document, where))


def _check_addresses_of(
    lab: LabSpec,
    link: LinkSpec,
    owners: dict[str, str],
    from_file: dict[str, str],
    document: Document,
    at: Location,
) -> None:
    networks: dict[int, tuple[str, object]] = {}
    versions: set[tuple[str, int]] = set()
    for node, text in _each_address(link):
        where = (*at, "addresses", node)
        try:
            interface = ipaddress.ip_interface(text)
        except ValueError:
            raise document.refuse(
                f"{text!r} is not an address with a prefix", where, "write it as 10.1.0.1/24"
            ) from None
        reason = why_no_address(interface)
        if reason:
            fix = "write it as 10.1.0.1/24"
            raise document.refuse(f"no node can have {text!r}: {reason}", where, fix)
        if interface.version == 6 and 6 not in lab.ip:
            what = f"{text!r} is IPv6, which the lab does not have"
            raise document.refuse(what, where, "say `ip: [4, 6]`")
        if (node, interface.version) in versions:
            what = f"{node!r} has two addresses of IPv{interface.version} on this link"
            raise document.refuse(what, where, "give it one of each IP version")
        versions.add((node, interface.version))
        owner = owners.setdefault(str(interface.ip), node)
        if owner != node and not _one_stack(lab, from_file[owner], from_file[node]):
            raise document.refuse(
                f"nodes {owner!r} and {node!r} both have the address {interface.ip}", where
            )
        other, network = networks.setdefault(interface.version, (node, interface.network))
        if network != interface.network:
            raise document.refuse(
                f"{node!r} is in {interface.network} but {other!r} on the same link is in "
                f"{network}",
                where,
            )
    _complete(link, document, at)


def _each_address(link: LinkSpec) -> Iterator[tuple[str, str]]:
    """Yield each node of a link with each address that the file gives it there."""
    for node, texts in link.given_addresses.items():
        yield from ((node, text) for text in texts)


def _one_stack(lab: LabSpec, one: str, other: str) -> bool:
    """Return True for native nodes of one host, which share its stack and its address."""
    kinds = {lab.nodes[one].kind, lab.nodes[other].kind}
    return kinds == {"native"} and lab.host_of(one) == lab.host_of(other)


def _complete(link: LinkSpec, document: Document, at: Location) -> None:
    missing = [node for node in link.members if node not in link.addresses]
    if missing:
        raise document.refuse(
            f"the link gives addresses but none for {missing[0]!r}",
            (*at, "addresses"),
            "give all or none",
        )
