"""The routers with daemons of a lab, and their links, as routing protocols see them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_interface, ip_network

from delaylab.forwarding.judged import JudgedPrefixes
from delaylab.forwarding.topology import Port, RouterLink, StaticRoute, Topology
from delaylab.plan.attachment import Attachment
from delaylab.plan.daemons import static_routes
from delaylab.plan.foreseen import areas_of
from delaylab.plan.kept import KeptPlan
from delaylab.plan.wiring import link_local
from delaylab.resolve.lab import Lab, Link
from delaylab.spec.lab import Protocol, Spoken
from delaylab.spec.routing.model import BACKBONE, RoutingSpec
from delaylab.spec.routing.static_routes import DEFAULT


def topology(lab: Lab, plan: KeptPlan) -> Topology:
    """Return the routers of a lab that have daemons, and the links that they are on.

    With BGP alone every link costs 1: the shortest path has the fewest AS numbers.
    """
    routed, links = lab.routers, lab.links
    areas = {area for routing in routed.values() for area in areas_of(routing)}
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
        static=_of_daemons(lab, plan),
    )


def _of_daemons(lab: Lab, plan: KeptPlan) -> dict[str, tuple[StaticRoute, ...]]:
    """Return the static routes that daemons set, by router."""
    attachments = {name: node.attachments for name, node in plan.nodes.items()}
    return {
        name: tuple(
            StaticRoute(each.to, each.via) for each in static_routes(lab, attachments, name)
        )
        for name, routing in lab.routers.items()
        if routing.static
    }


def judged(lab: Lab, plan: KeptPlan) -> JudgedPrefixes:
    """Return which routes of the routers are right or wrong, and which are not the daemons'."""
    network = topology(lab, plan)
    static = {route.to for routes in network.static.values() for route in routes}
    return JudgedPrefixes(network.networks, _static_prefixes(lab, plan), static)


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


def _segment(
    link: Link, ends: tuple[Attachment, ...], routed: dict[str, RoutingSpec]
) -> RouterLink:
    here = [each for each in ends if each.node in routed]
    first = routed[here[0].node]
    area = first.ospf.area_of(link.name) if first.ospf else ""
    said = {each.node: _spoken(link, first, each.node) for each in here}
    heard = list(said.values()) == [True] * len(link.members)
    transit = link.is_pair and heard
    ports = tuple(
        replace(
            _port(each, routed[each.node], said[each.node], link, transit=transit),
            cost=1 if first.protocols == ["bgp"] else link.cost_of(each.node),
        )
        for each in here
    )
    return RouterLink(link.name, ports, area)


def _spoken(link: Link, routing: RoutingSpec, node: str) -> Spoken:
    """Return whether a router speaks the protocol of all routers on a link."""
    protocol: Protocol | None = "ospf" if routing.ospf else "isis" if routing.isis else None
    return True if protocol is None else link.spoken(protocol, node)


def _port(
    attachment: Attachment, routing: RoutingSpec, said: Spoken, link: Link, *, transit: bool
) -> Port:
    addresses: dict[int, str] = {
        interface.version: str(interface.ip) for interface in attachment.interfaces()
    }
    if link.unnumbered:
        addresses[6] = link_local(attachment.mac)
    # Of two next hops that BGP tells for IPv6 (RFC 2545), BIRD takes the global one.
    by_global = routing.by == "bird" and routing.bgp is not None
    return Port(
        attachment.node,
        attachment.device,
        () if link.unnumbered else _networks(attachment.addresses),
        addresses,
        link_local(attachment.mac),
        by_global=by_global,
        keeps_address=routing.by == "bird" and routing.ospf is not None,
        hidden=transit
        and routing.ospf is not None
        and routing.ospf.hides(link.name, is_pair=link.is_pair),
        spoken=said is not False,
        heard=said is True,
    )


def _networks(addresses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(ip_interface(text).network) for text in addresses)
