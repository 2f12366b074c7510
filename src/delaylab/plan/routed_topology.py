"""The routers with daemons of a lab, and their links, as routing protocols see them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_interface, ip_network

from delaylab.forwarding.expected import is_torn
from delaylab.forwarding.judged import JudgedPrefixes
from delaylab.forwarding.topology import Faults, Port, RouterLink, Topology
from delaylab.plan.attachment import Attachment
from delaylab.plan.kept import KeptPlan
from delaylab.plan.wiring import link_local
from delaylab.resolve.lab import Lab, Link
from delaylab.routing.writers import has_own_configuration
from delaylab.spec.lab import Protocol, Spoken
from delaylab.spec.routing.model import BACKBONE, RoutingSpec
from delaylab.spec.routing.static_routes import DEFAULT


def topology(lab: Lab, plan: KeptPlan) -> Topology:
    """Return the routers of a lab that have daemons, and the links that they are on.

    With BGP alone every link costs 1: the shortest path has the fewest AS numbers.
    """
    routed, links = lab.routers, lab.links
    areas = {area for routing in routed.values() for area in _areas(routing)}
    segments = tuple(
        _segment(link, plan.on_link(name), routed)
        for name, link in links.items()
        if any(node in routed for node in link.members)
    )
    return Topology(
        loopbacks={node: _networks(plan.nodes[node].loopbacks) for node in routed},
        segments=segments,
        backbone=BACKBONE if len(areas) > 1 else next(iter(areas), ""),
        areas_of_loopbacks={
            node: routing.ospf.area_of_loopback(_spoken_links(plan, links, node))
            for node, routing in routed.items()
            if routing.ospf
        },
    )


def why_unforeseen(lab: Lab) -> str | None:
    """Return why the right forwarding tables of a lab's daemons are not known; None if they are."""
    routed = lab.routers
    spoken = {tuple(routing.protocols) for routing in routed.values()}
    if len(spoken) > 1 or any(len(protocols) > 1 for protocols in spoken):
        return "its routers speak several protocols"
    given = [routing.bgp.as_number for routing in routed.values() if routing.bgp]
    numbers = [number for number in given if number is not None]
    if len(numbers) != len(set(numbers)):
        return "several routers have one AS number"
    areas = {area for routing in routed.values() for area in _areas(routing)}
    if 6 in lab.ip and len(areas) > 1 and any(each.by == "frr" for each in routed.values()):
        return "FRR's OSPFv3 takes other paths between areas than RFC 5340 says"
    if any(routing.added for routing in routed.values()):
        return "`added` may change the routes"
    if any(
        has_own_configuration(routing.by, lab.nodes[node].files) for node, routing in routed.items()
    ):
        return "its routers have configuration files of their own"
    return None


def why_unforeseen_with(network: Topology, faults: Faults) -> str | None:
    """Return why the right tables of a network with these faults are not known; None if they are.

    Of areas, FRR and BIRD have rules of their own once the backbone is torn.
    """
    if is_torn(network, faults):
        return "the backbone is torn, and daemons differ about areas then (RFC 3509)"
    return None


def slowest_s(lab: Lab) -> float:
    """Return the seconds in which the routers of a lab notice all that they will notice."""
    times = [0]
    for routing in lab.routers.values():
        if routing.ospf:
            times.append(routing.ospf.dead.ns)
        if routing.isis:
            times.append(routing.isis.hello.ns * routing.isis.multiplier)
        if routing.bgp:
            times.append(routing.bgp.hold.ns)
    return max(times) / 1e9


def judged(lab: Lab, plan: KeptPlan) -> JudgedPrefixes:
    """Return which routes of the routers are right or wrong, and which are not the daemons'."""
    return JudgedPrefixes(topology(lab, plan).networks, _static_prefixes(lab, plan))


def _static_prefixes(lab: Lab, plan: KeptPlan) -> set[str]:
    """Return the prefixes to which the file gives routers routes of their own, by any name."""
    found: set[str] = set()
    for spec in lab.nodes.values():
        for route in spec.routes:
            if route.to == DEFAULT:
                found |= {"0.0.0.0/0", "::/0"}
            elif route.to in plan.nodes:
                node = plan.nodes[route.to]
                texts = [*node.loopbacks, *(t for each in node.attachments for t in each.addresses)]
                found |= {str(ip_network(text.split("/")[0])) for text in texts}
            else:
                found.add(route.to)
    return found


def _spoken_links(plan: KeptPlan, links: Mapping[str, Link], node: str) -> Iterator[str]:
    """Yield the links on which a node speaks OSPF, in order."""
    for each in plan.nodes[node].attachments:
        if links[each.link].spoken("ospf", node) is not False:
            yield each.link


def _areas(routing: RoutingSpec) -> Iterator[str]:
    if routing.ospf:
        yield routing.ospf.area
        yield from routing.ospf.areas.values()


def _segment(
    link: Link, ends: tuple[Attachment, ...], routed: dict[str, RoutingSpec]
) -> RouterLink:
    here = [each for each in ends if each.node in routed]
    first = routed[here[0].node]
    area = first.ospf.area_of(link.name) if first.ospf else ""
    cost = 1 if first.protocols == ["bgp"] else link.cost
    said = {each.node: _spoken(link, first, each.node) for each in here}
    heard = list(said.values()) == [True] * len(link.members)
    transit = link.is_pair and heard
    ports = tuple(_port(each, routed[each.node], said[each.node], transit=transit) for each in here)
    return RouterLink(link.name, cost, ports, area)


def _spoken(link: Link, routing: RoutingSpec, node: str) -> Spoken:
    """Return whether a router speaks the protocol of all routers on a link."""
    protocol: Protocol | None = "ospf" if routing.ospf else "isis" if routing.isis else None
    return True if protocol is None else link.spoken(protocol, node)


def _port(attachment: Attachment, routing: RoutingSpec, said: Spoken, *, transit: bool) -> Port:
    addresses: dict[int, str] = {
        interface.version: str(interface.ip) for interface in attachment.interfaces()
    }
    # Of two next hops that BGP tells for IPv6 (RFC 2545), BIRD takes the global one.
    by_global = routing.by == "bird" and routing.bgp is not None
    return Port(
        attachment.node,
        attachment.device,
        _networks(attachment.addresses),
        addresses,
        link_local(attachment.mac),
        by_global=by_global,
        keeps_address=routing.by == "bird" and routing.ospf is not None,
        hidden=transit and routing.ospf is not None and routing.ospf.prefix_suppression,
        spoken=said is not False,
        heard=said is True,
    )


def _networks(addresses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(ip_interface(text).network) for text in addresses)
