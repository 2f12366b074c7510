"""BIRD's configuration and daemon (bird.network.cz; written for BIRD 2.0.12)."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface

from delaylab.routing.adjacencies import ZONE
from delaylab.routing.node_programs import NodePrograms
from delaylab.routing.router import Router, RouterPort, of_version
from delaylab.spec.programs import FileSpec, Prints, ProgramSpec
from delaylab.spec.routing.model import BgpSpec, OspfSpec, seconds
from delaylab.spec.routing.ospf_settings import SECOND, AreaSpec, OspfLinkSpec, Source

CONFIG = "/etc/bird/bird.conf"
CONTROL = "/run/bird/bird.ctl"
PRINT_EVENTS = ["birdc", "-s", CONTROL, "debug", '"ospf*"', "{ events }"]
"""The command after which BIRD prints OSPF's events."""
STARTED = "Started"
"""The sign that BIRD has read its configuration; its socket is there before."""
MOST_PATHS = 64
NETWORKS = {
    "point-to-point": "ptp",
    "broadcast": "bcast",
    "non-broadcast": "nbma",
    "point-to-multipoint": "ptmp",
}
"""BIRD's words for the types of OSPF's networks."""
SOURCES: dict[Source, str] = {
    "bgp": "source = RTS_BGP",
    "connected": "source = RTS_DEVICE",
    "static": "source = RTS_STATIC",
}
"""BIRD's words for where routes come from."""
OF_OSPF = "source ~ [ RTS_OSPF, RTS_OSPF_IA, RTS_OSPF_EXT1, RTS_OSPF_EXT2 ]"
METRIC = 20
"""The metric of routes from elsewhere of which the file says none."""
TO_KERNEL = "if source = RTS_DEVICE then reject; accept;"
"""The filter of routes to the kernel, which has those to its own networks already."""


def programs(router: Router, own: str | None = None) -> NodePrograms:
    """Return BIRD's file and program.

    `own` is a `bird.conf` that takes the place of that made from the lab.

    BIRD listens to changes of routes, but uses them only to learn routes of others (`learn`), which
    is not configured here. In a large lab the kernel does not tell it: for each of its own routes
    it would get a message back.
    """
    run = f"mkdir -p /run/bird && exec bird -f -c {CONFIG} -s {CONTROL}"
    daemon = ProgramSpec(run=run, name="bird", env=ZONE, ready=Prints(prints=STARTED))
    files = {CONFIG: FileSpec(content=config(router) if own is None else own, mode="640")}
    # A configuration of the user's may do what delaylab's does not.
    ignoring = not router.prints_events and not router.routing.added and own is None
    return NodePrograms(files, [daemon], ignoring_routes=frozenset({"bird"} if ignoring else ()))


def config(router: Router) -> str:
    """Return the text of `bird.conf`."""
    routing = router.routing
    lines = ["log stderr all;", f"router id {router.router_id};", "protocol device {}"]
    # Routes to the router's own networks come from the kernel, not from a protocol.
    lines += ["protocol direct {", *(f"  ipv{version};" for version in router.ip), "}"]
    if routing.bfd:
        ms = routing.bfd.interval.ns // 1_000_000
        times = f"interval {ms} ms; multiplier {routing.bfd.multiplier};"
        lines += ["protocol bfd {", f'  interface "*" {{ {times} }};', "}"]
    for version in router.ip:
        lines += _static(router, version)
        lines += _kernel(router, version)
        if routing.ospf:
            lines += _ospf(router, routing.ospf, version)
    if routing.bgp:
        lines += _bgp(router, routing.bgp)
    return "\n".join(lines) + "\n" + routing.added


def _static(router: Router, version: int) -> Iterator[str]:
    found = [each for each in router.static if each.version == version]
    if found:
        yield f"protocol static static{version} {{"
        yield f"  ipv{version};"
        for each in found:
            yield f"  route {each.to} {f'via {each.via}' if each.via else each.type};"
        yield "}"


def _kernel(router: Router, version: int) -> Iterator[str]:
    yield f"protocol kernel kernel{version} {{"
    yield f"  ipv{version} {{ import none; export filter {{ {_to_kernel(router, version)} }}; }};"
    yield f"  merge paths on limit {MOST_PATHS};"
    yield "}"


def _to_kernel(router: Router, version: int) -> str:
    """Return the filter of routes to the kernel.

    If other routers do not know the addresses of links, the router sends from its loopback's.
    """
    own = next(of_version(router.loopbacks, version), None)
    if own is None or not any(router.hides(port) for port in router.ports):
        return TO_KERNEL
    return TO_KERNEL.replace("accept;", f"krt_prefsrc = {own}; accept;")


def _ospf(router: Router, ospf: OspfSpec, version: int) -> Iterator[str]:
    # BIRD calls OSPF version 2 `v2`, and that for IPv6 `v3`.
    yield f"protocol ospf v{2 if version == 4 else 3} ospf{version} {{"
    if router.prints_events:
        yield "  debug { events };"
    yield f"  tick {max(1, -(-ospf.spf_hold.ns // SECOND))};"
    yield f"  ipv{version} {{ import all; export {_imports(ospf)}; }};"
    yield f"  ecmp on limit {MOST_PATHS};"
    ports = [port for port in router.ports if "ospf" not in port.off]
    areas = dict.fromkeys(ospf.area_of(port.link) for port in ports)
    for area in areas or [router.area_of_loopback(ospf)]:
        yield f"  area {area} {{"
        yield from _area(ospf.area_settings.get(area), version)
        for port in ports:
            if ospf.area_of(port.link) == area:
                yield from _interface(router, ospf, port, version)
                if router.hides(port):
                    yield from _hidden(port, version)
        if area == router.area_of_loopback(ospf):
            # OSPFv3 is not spoken on `lo`, which has no link-local address.
            for address in of_version(router.loopbacks, version):
                network = f"{address}/{32 if version == 4 else 128}"
                yield f"    stubnet {network} {{ cost {ospf.loopback_cost}; }};"
        yield "  };"
    yield "}"


def _imports(ospf: OspfSpec) -> str:
    """Return the filter of routes from elsewhere that OSPF announces."""
    if not ospf.imports:
        return "none"
    said = ""
    for source, given in ospf.imports.items():
        metric = METRIC if given.metric is None else given.metric
        said += f"if {SOURCES[source]} then {{ ospf_metric{given.type} = {metric}; accept; }} "
    return f"filter {{ {said}reject; }}"


def _area(own: AreaSpec | None, version: int) -> Iterator[str]:
    """Yield the settings of an area."""
    if own is None:
        return
    if own.kind != "normal":
        # Of the two words BIRD takes a switch after `stub` alone.
        yield f"    {own.kind};"
        yield f"    summary {'yes' if own.summaries else 'no'};"
    if own.default_cost is not None:
        yield f"    default cost {own.default_cost};"
    for word, given in (("networks", own.ranges), ("external", own.external_ranges)):
        ranges = [each for each in given if ip_interface(each.prefix).version == version]
        if ranges:
            said = (f"{each.prefix}{'' if each.announced else ' hidden'};" for each in ranges)
            yield f"    {word} {{ {' '.join(said)} }};"


def _of_link(own: OspfLinkSpec, version: int) -> Iterator[str]:
    """Yield the settings of a single link that are no times."""
    if own.priority is not None:
        yield f"      priority {own.priority};"
    if own.password is not None:
        yield f'      authentication simple; password "{own.password}";'
    for number, secret in own.digest.items():
        kind = "keyed md5" if version == 4 else "hmac sha256"
        key = f'password "{secret}" {{ id {number}; algorithm {kind}; }};'
        yield f"      authentication cryptographic; {key}"


def _hidden(port: RouterPort, version: int) -> Iterator[str]:
    """Yield the lines by which the networks of a port are not announced."""
    for network in (ip_interface(text).network for text in port.addresses):
        if network.version == version:
            yield f"    stubnet {network} {{ hidden; }};"


def _interface(router: Router, ospf: OspfSpec, port: RouterPort, version: int) -> Iterator[str]:
    yield f'    interface "{port.device}" {{'
    yield f"      cost {port.cost};"
    if not port.hearing("ospf"):
        yield "      stub;"
    yield f"      type {NETWORKS[port.network]};"
    hello, dead = ospf.times(port.link)
    yield f"      hello {seconds(hello)};"
    yield f"      dead {seconds(dead)};"
    if ospf.poll and port.network == "non-broadcast":
        yield f"      poll {seconds(ospf.poll)};"
    yield f"      retransmit {seconds(ospf.retransmit)};"
    yield from _of_link(ospf.link(port.link), version)
    if router.watched_by_bfd(port):
        yield "      bfd yes;"
    hearing = port.hearing("ospf")
    found = [each for peer in hearing for each in of_version(peer.addresses, version)]
    if port.network == "non-broadcast" and found:
        yield f"      neighbors {{ {' '.join(f'{address} eligible;' for address in found)} }};"
    yield "    };"


def _bgp(router: Router, bgp: BgpSpec) -> Iterator[str]:
    number = 0
    outside = [(port, peer) for port in router.ports for peer in port.peers]
    for version in router.ip:
        own = next(of_version(router.loopbacks, version), None)
        for port, peer in outside:
            if peer.as_number in (None, router.as_number):
                continue
            for address in of_version(peer.addresses, version):
                number += 1
                yield from _session(router, bgp, number, version, address, peer.as_number)
                yield f'  interface "{port.device}"; direct;'
                if router.routing.bfd:
                    yield "  bfd yes;"
                yield "}"
        for peer in router.inside:
            for address in of_version(peer.addresses, version):
                number += 1
                yield from _session(
                    router, bgp, number, version, address, peer.as_number, more="next hop self; "
                )
                yield f"  source address {own}; multihop;"
                yield "}"


def _session(
    router: Router,
    bgp: BgpSpec,
    number: int,
    version: int,
    address: str,
    as_number: int | None,
    *,
    more: str = "",
) -> Iterator[str]:
    """Yield the beginning of a session's protocol, to which its ends add and which they close."""
    yield f"protocol bgp peer{number} {{"
    yield "  debug { events };"
    yield f"  local as {router.as_number};"
    yield f"  neighbor {address} as {as_number};"
    yield f"  keepalive time {seconds(bgp.keepalive)}; hold time {seconds(bgp.hold)};"
    yield "  connect delay time 1; connect retry time 1;"
    exported = "if source ~ [ RTS_DEVICE, RTS_BGP ] then accept; "
    words = {"ospf": OF_OSPF, "static": SOURCES["static"]}
    exported += "".join(f"if {words[each]} then accept; " for each in bgp.imports) + "reject;"
    yield f"  ipv{version} {{ import all; {more}export filter {{ {exported} }}; }};"
