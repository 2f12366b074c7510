"""Checks of a router's settings that one of the daemons does not have, or one version of OSPF."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from delaylab.spec.routing.model import BACKBONE, OspfSpec, RoutingSpec
from delaylab.spec.routing.static_routes import RouteSpec

OF_BIRD = ("bgp", "connected", "static")
"""The sources of routes that BIRD can announce into OSPF."""
NOT_IN_OSPF6D = ("non-broadcast", "point-to-multipoint")
"""The types of network that FRR's OSPF version 3 does not have."""
OTHER_NETWORK = "take `ip: [4]`, or `by: bird`"


def settings_problems(routing: RoutingSpec, ip: Collection[int]) -> Iterator[tuple[str, str]]:
    """Yield what of a router's settings cannot be, each with a remedy."""
    if routing.ospf is not None:
        yield from _of_links(routing, routing.ospf, ip)
        yield from _of_areas(routing, routing.ospf, ip)
        if routing.by == "bird":
            yield from _of_bird(routing.ospf)
        if not routing.ospf.loopback and routing.protocols != ["ospf"]:
            what = "`ospf: {loopback: false}` is of routers that speak OSPF alone"
            yield what, f"leave it out, or {' and '.join(set(routing.protocols) - {'ospf'})}"
    if routing.router_advertisements and 6 not in ip:
        what = "`router_advertisements` are of IPv6, and the lab has none"
        yield what, "say `ip: [4, 6]` of the lab, or leave them out"
    if routing.router_advertisements and routing.by == "bird":
        yield "router advertisements by BIRD are not written", "say `by: frr`, or use `added:`"
    for route in routing.static:
        yield from _of_static(route)
    if routing.by == "bird" and routing.bgp:
        for source in routing.bgp.imports:
            if source not in ("ospf", "static"):
                yield f"BIRD has no import of `{source}` into BGP", "say `by: frr`"


def _of_links(
    routing: RoutingSpec, ospf: OspfSpec, ip: Collection[int]
) -> Iterator[tuple[str, str]]:
    version3_by_frr = routing.by == "frr" and 6 in ip
    if version3_by_frr and ospf.network in NOT_IN_OSPF6D:
        yield f"the OSPF version 3 of FRR 8.4 has no `network: {ospf.network}`", OTHER_NETWORK
    for link, own in ospf.links.items():
        if own.password is not None and 6 in ip:
            what = f"OSPF version 3 has no `password` (link {link!r})"
            yield what, "take `digest: {1: secret}`, or `ip: [4]`"
        if version3_by_frr and own.network in NOT_IN_OSPF6D:
            what = f"the OSPF version 3 of FRR 8.4 has no {own.network} (link {link!r})"
            yield what, OTHER_NETWORK
        if own.mtu_ignore and routing.by == "bird":
            yield "BIRD has no `mtu_ignore`", "leave it out"
        if own.bfd and routing.bfd is None:
            yield f"`bfd` of link {link!r} needs BFD on the router", "say `bfd: true` in `routing`"


def _of_areas(
    routing: RoutingSpec, ospf: OspfSpec, ip: Collection[int]
) -> Iterator[tuple[str, str]]:
    for area, own in ospf.area_settings.items():
        if area not in (ospf.area, *ospf.areas.values()):
            yield f"no link is in area {area}", "say so in `areas`, or leave its settings out"
        if area == BACKBONE and own.kind != "normal":
            yield f"the backbone is no {own.kind} area (RFC 2328, section 3.6)", "leave `kind` out"
        version3_by_frr = routing.by == "frr" and 4 not in ip
        if version3_by_frr and own.default_cost is not None and own.kind == "stub":
            what = "the OSPF version 3 of FRR 8.4 has no `default_cost` of stub areas"
            yield what, "leave it out"
        of_4 = [each for each in own.external_ranges if ":" not in each.prefix]
        if of_4 and routing.by == "frr":
            what = f"the OSPF version 2 of FRR 8.4 has no external ranges (area {area})"
            yield what, "say `by: bird`, or take `summary-address` in `added:`"
        every = (*own.ranges, *own.external_ranges)
        if routing.by == "bird" and any(each.cost is not None for each in every):
            yield "BIRD has no `cost` of a range", "leave it out, or say `by: frr`"


def _of_bird(ospf: OspfSpec) -> Iterator[tuple[str, str]]:
    if ospf.default is not None:
        what = "BIRD originates no default route"
        yield what, "import a static one (`imports: [static]`), or say `by: frr`"
    for source, given in ospf.imports.items():
        if source not in OF_BIRD:
            yield f"BIRD has no import of `{source}` into OSPF", "say `by: frr`"
        if given.route_map is not None:
            yield "BIRD has no route maps", "leave `route_map` out, or say `by: frr`"


def _of_static(route: RouteSpec) -> Iterator[tuple[str, str]]:
    where = f"the static route to {route.to}"
    if len(route.via) > 1:
        yield f"{where} has several next hops", "give each a route of the node (`routes:`)"
    if route.metric is not None:
        yield f"{where} has a `metric`, which daemons do not set", "leave it out"
    if route.type == "prohibit":
        yield f"{where} is of type `prohibit`, which daemons do not have", "take `unreachable`"
    if route.dev is not None and not route.via:
        yield f"{where} has no next hop", "say `via`"
