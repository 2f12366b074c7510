"""Checks of a lab's routing daemons: they fit the lab, and each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from delaylab.spec.lab import LabSpec
from delaylab.spec.names import Names, named_links, names, origins
from delaylab.spec.routing.expect import SHORTEST
from delaylab.spec.routing.given import routing_of
from delaylab.spec.routing.model import BACKBONE, RoutingSpec, seconds
from delaylab.spec.routing.settings_check import settings_problems
from delaylab.spec.routing.unnumbered import check_unnumbered
from delaylab.spec.source import Document, Location, Problems

BY_FRR_ALONE = ("isis",)
BIRD_RETRANSMIT = 2
"""The least seconds of OSPF's retransmission that BIRD takes."""


def check_routing(
    lab: LabSpec, stands_for: Names, document: Document, at: Location, problems: Problems
) -> None:
    """Refuse daemons on nodes that are no routers, and what contradicts the rest of the lab.

    `stands_for` are the links of the file, each with those that it stands for.
    """
    found = {name: routing_of(lab, name) for name in lab.nodes}
    routers = {name: routing for name, routing in found.items() if routing is not None}
    own_daemons = lab.routing is not None and lab.routing.expect is not None
    is_router = any(spec.forwards for spec in lab.nodes.values())
    if lab.routing is not None and not routers and not (own_daemons and is_router):
        what = "`routing` is of routers, and no node of the lab is one"
        fix = "say `forwards: true` of a node"
        problems.errors.append(document.refuse(what, (*at, "routing"), fix))
    if (routers or own_daemons) and lab.routes == "shortest":
        what = "`routes: shortest` sets the routes that the daemons of `routing` are to set"
        fix = "leave `routes` out, or `routing`"
        problems.errors.append(document.refuse(what, (*at, "routes"), fix))
    problems.gather(lambda: _check_expect(lab, routers, document, at))
    check_unnumbered(lab, routers, document, at, problems)
    if not routers:
        return
    links = {each for name, several in stands_for.items() for each in (name, *several)}
    for name, routing in routers.items():
        own = lab.nodes[name].routing is not None
        where = (*at, "nodes", name, "routing") if own else (*at, "routing")
        for what, fix in _problems(lab, name, routing, links):
            problems.errors.append(document.refuse(what, where, fix))
    if not problems.errors:
        _check_ids(lab, routers, document, at, problems)
        problems.gather(lambda: _check_areas(lab, routers, document, at))


def _problems(
    lab: LabSpec, name: str, routing: RoutingSpec, links: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the routing of one router, each with a remedy."""
    spec = lab.nodes[name]
    if not spec.forwards:
        yield f"{name!r} has daemons and forwards no packets", "say `forwards: true` of it"
    if not spec.own_stack:
        yield (
            f"{name!r} of kind {spec.kind} has no network stack of its own for routing daemons",
            "take kind netns, or say `routing: none` of it",
        )
    if not (routing.protocols or routing.static or routing.router_advertisements):
        yield "`routing` names no protocol", "say `ospf: {}`, `isis: {}` or `bgp: {}`"
    for protocol in BY_FRR_ALONE:
        if routing.by == "bird" and protocol in routing.protocols:
            yield f"BIRD has no {protocol.upper()}", "say `by: frr`"
    if routing.by == "bird" and routing.ospf and seconds(routing.ospf.retransmit) < BIRD_RETRANSMIT:
        yield "BIRD has no `retransmit` below 2s", "say `retransmit: 2s`, or `by: frr`"
    if routing.by == "frr" and routing.ospf and routing.ospf.prefix_suppression:
        yield "FRR 8.4 has no `prefix_suppression`", "leave it out, or say `by: bird`"
    if routing.by == "bird" and routing.ospf and routing.ospf.spf_hold_most:
        yield "BIRD has no `spf_hold_most`: its hold does not grow", "leave it out"
    ospf = routing.ospf
    if ospf is not None and not ospf.loopback and spec.loopback:
        yield (
            f"{name!r} has a `loopback`, and OSPF's says that it has none",
            "leave one of them out",
        )
    yield from settings_problems(routing, {*lab.ip})
    of_ospf = (*ospf.areas, *ospf.nbma, *ospf.links) if ospf else ()
    for link in (*of_ospf, *routing.router_advertisements):
        if link not in links:
            yield f"no link {link!r}", f"links: {', '.join(sorted(links)[:8])}"


def _check_expect(lab: LabSpec, routers: Collection[str], document: Document, at: Location) -> None:
    """Refuse what a single node expects, and shortest paths of daemons that nobody knows."""
    for name, spec in lab.nodes.items():
        if isinstance(spec.routing, RoutingSpec) and spec.routing.expect is not None:
            what = f"`expect` is of the whole lab, not of {name!r} alone"
            where = (*at, "nodes", name, "routing")
            raise document.refuse(what, where, "say it in the lab's `routing`")
    if lab.routing is not None and lab.routing.expect == SHORTEST and not routers:
        what = (
            "`expect: shortest` is of daemons that `routing` configures, and no protocol is named"
        )
        fix = "say `expect: quiet` of daemons of your own, or name a protocol"
        raise document.refuse(what, (*at, "routing"), fix)


def _check_ids(
    lab: LabSpec,
    routers: dict[str, RoutingSpec],
    document: Document,
    at: Location,
    problems: Problems,
) -> None:
    """Refuse a router ID that two routers have."""
    made = names(lab)
    owners: dict[str, str] = {}
    for name, routing in routers.items():
        if routing.router_id is None:
            continue
        nodes = made[name]
        other = owners.setdefault(routing.router_id, nodes[0])
        twice = nodes[1] if len(nodes) > 1 else nodes[0] if other != nodes[0] else None
        if twice is not None:
            what = f"{other!r} and {twice!r} both have the router ID {routing.router_id}"
            own = lab.nodes[name].routing is not None
            where = (*at, "nodes", name, "routing") if own else (*at, "routing")
            fix = "leave `router_id` out: each router then has one of its own"
            problems.errors.append(document.refuse(what, where, fix))


def _check_areas(
    lab: LabSpec, routers: dict[str, RoutingSpec], document: Document, at: Location
) -> None:
    """Refuse areas of OSPF that no router joins to the backbone (RFC 2328, section 3.1)."""
    areas_of: dict[str, set[str]] = defaultdict(set)
    file_name = origins(lab)
    for name, link in named_links(lab):
        for node in link.members:
            routing = routers.get(file_name[node])
            if routing and routing.ospf and link.spoken("ospf", node) is not False:
                areas_of[node].add(routing.ospf.area_of(name))
    areas = {area for found in areas_of.values() for area in found}
    joined = {area for found in areas_of.values() if BACKBONE in found for area in found}
    lost = sorted(areas - joined) if len(areas) > 1 else []
    if lost:
        what = f"no router joins area {lost[0]} to the backbone, area {BACKBONE}"
        fix = f"give one of its routers a link in area {BACKBONE}"
        raise document.refuse(what, (*at, "routing"), fix)
