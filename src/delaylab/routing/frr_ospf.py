"""OSPF in FRR's configuration: of version 2 (ospfd) and of version 3 (ospf6d)."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from delaylab.routing.router import BFD_PROFILE, Router, RouterPort, of_version
from delaylab.spec.routing.model import OspfSpec, seconds
from delaylab.spec.routing.ospf_settings import AreaSpec, ImportSpec, OspfLinkSpec

MOST_PATHS = 64
LSA_ARRIVALS = 5
"""MinLSInterval over MinLSArrival, the least time between two versions of one LSA from another
router: 5 s and 1 s in RFC 2328, appendix B."""


def of_port(router: Router, ospf: OspfSpec, port: RouterPort) -> Iterator[str]:
    """Yield the lines of an interface on which the router speaks OSPF."""
    own = ospf.link(port.link)
    if 4 in router.ip:
        yield from _of_version(router, ospf, port, "ip ospf")
        yield from _authentication2(own)
        if own.mtu_ignore:
            yield " ip ospf mtu-ignore"
    if 6 in router.ip:
        yield from _of_version(router, ospf, port, "ipv6 ospf6")
        for number, secret in own.digest.items():
            key = f"key-id {number} hash-algo hmac-sha-256 key {secret}"
            yield f" ipv6 ospf6 authentication {key}"
        if own.mtu_ignore:
            yield " ipv6 ospf6 mtu-ignore"
        if not port.hearing("ospf"):
            yield " ipv6 ospf6 passive"


def _of_version(router: Router, ospf: OspfSpec, port: RouterPort, command: str) -> Iterator[str]:
    own, (hello, dead) = ospf.link(port.link), ospf.times(port.link)
    yield f" {command} area {ospf.area_of(port.link)}"
    yield f" {command} network {port.network}"
    yield f" {command} cost {port.cost}"
    yield f" {command} hello-interval {seconds(hello)}"
    yield f" {command} dead-interval {seconds(dead)}"
    yield f" {command} retransmit-interval {seconds(ospf.retransmit)}"
    if own.priority is not None:
        yield f" {command} priority {own.priority}"
    if router.watched_by_bfd(port):
        yield f" {command} bfd"
        yield f" {command} bfd profile {BFD_PROFILE}"


def _authentication2(own: OspfLinkSpec) -> Iterator[str]:
    if own.password is not None:
        yield " ip ospf authentication"
        yield f" ip ospf authentication-key {own.password}"
    for number, secret in own.digest.items():
        yield " ip ospf authentication message-digest"
        yield f" ip ospf message-digest-key {number} md5 {secret}"


def of_router(router: Router, ospf: OspfSpec) -> Iterator[str]:
    """Yield the blocks of a router's OSPF."""
    times = (ospf.spf_delay, ospf.spf_hold, ospf.longest_hold)
    delay, hold, most = (each.ns // 1_000_000 for each in times)
    spf = f" timers throttle spf {delay} {hold} {max(delay, most)}"
    if 4 in router.ip:
        yield "router ospf"
        yield f" ospf router-id {router.router_id}"
        for port in router.ports:
            if "ospf" not in port.off and not port.hearing("ospf"):
                yield f" passive-interface {port.device}"
        for port in router.ports:
            if port.network == "non-broadcast":
                poll = f" poll-interval {seconds(ospf.poll)}" if ospf.poll else ""
                for address in _neighbors(port, 4):
                    yield f" neighbor {address}{poll}"
        yield spf
        lsa = ospf.lsa_interval.ns // 1_000_000
        yield f" timers throttle lsa all {lsa}"
        # A version that comes sooner after the one before it is not taken.
        yield f" timers lsa min-arrival {lsa // LSA_ARRIVALS}"
        yield f" maximum-paths {MOST_PATHS}"
        yield from _areas_and_imports(router, ospf, 4)
        yield " log-adjacency-changes"
        yield "exit"
    if 6 in router.ip:
        yield "router ospf6"
        yield f" ospf6 router-id {router.router_id}"
        yield spf
        yield f" maximum-paths {MOST_PATHS}"
        yield from _areas_and_imports(router, ospf, 6)
        yield " log-adjacency-changes"
        yield "exit"


def _neighbors(port: RouterPort, version: int) -> Iterator[str]:
    for peer in port.hearing("ospf"):
        yield from of_version(peer.addresses, version)


def _areas_and_imports(router: Router, ospf: OspfSpec, version: int) -> Iterator[str]:
    here = {*(ospf.area_of(port.link) for port in router.ports if "ospf" not in port.off)}
    for area, own in ospf.area_settings.items():
        if area in here:
            yield from _area(area, own, version, is_border=len(here) > 1)
    for source, given in ospf.imports.items():
        yield f" redistribute {source}{_metric(given)}"
    if ospf.default is not None:
        always = " always" if ospf.default.always else ""
        yield f" default-information originate{always}{_metric(ospf.default)}"


def _area(area: str, own: AreaSpec, version: int, *, is_border: bool) -> Iterator[str]:
    if own.kind != "normal":
        default = ""
        if version == 6 and own.kind == "nssa" and own.default_cost is not None and is_border:
            # ospfd announces such a route by itself, ospf6d has to be told.
            default = f" default-information-originate metric {own.default_cost}"
        yield f" area {area} {own.kind}{default}{'' if own.summaries else ' no-summary'}"
    if own.default_cost is not None and version == 4:
        yield f" area {area} default-cost {own.default_cost}"
    for word, ranges in (("range", own.ranges), ("nssa range", own.external_ranges)):
        for each in ranges:
            if ip_network(each.prefix).version == version:
                cost = "" if each.cost is None else f" cost {each.cost}"
                said = cost if each.announced else " not-advertise"
                yield f" area {area} {word} {each.prefix}{said}"


def _metric(given: ImportSpec) -> str:
    """Return the words for the metric of routes from elsewhere, and for their route map."""
    metric = "" if given.metric is None else f" metric {given.metric}"
    kind = "" if given.metric is None and given.type == 2 else f" metric-type {given.type}"
    return f"{metric}{kind}" + ("" if given.route_map is None else f" route-map {given.route_map}")
