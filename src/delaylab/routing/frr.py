"""FRR's configuration and daemons (docs.frrouting.org; written for FRR 8.4)."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface

from delaylab.routing import frr_ospf
from delaylab.routing.adjacencies import ZONE
from delaylab.routing.frr_ospf import MOST_PATHS
from delaylab.routing.frr_parts import parts
from delaylab.routing.node_programs import NodePrograms
from delaylab.routing.router import (
    BFD_PROFILE,
    ZEBRA,
    Peer,
    Router,
    RouterPort,
    of_version,
)
from delaylab.spec.programs import Exists, FileSpec, ProgramSpec
from delaylab.spec.routing.advertisements import AdvertisementSpec
from delaylab.spec.routing.model import BgpSpec, IsisSpec, seconds
from delaylab.spec.routing.ospf_settings import BfdSpec

FOLDER = "/etc/frr"
CONFIG = f"{FOLDER}/frr.conf"
VTYSH = "/etc/frr/vtysh.conf"
OWNER = "frr:frr"
SOCKETS = "/run/frr"
PROGRAMS = "/usr/lib/frr"
INSTANCE = "delaylab"
"""The name of the instance of IS-IS, which only this router sees."""
DISCARDS = {"blackhole": "blackhole", "unreachable": "reject"}
"""FRR's words for routes that send nothing on."""
PLAIN_ROUTES = "no zebra nexthop kernel enable"
"""The command that keeps zebra from next-hop groups: the kernel takes a next hop out of them when a
link goes down, and zebra 8.4 does not put it back when the link comes up."""
PRECISE = "log timestamp precision 6"
EVENTS = {
    "ospf": "log-adjacency-changes",
    "ospf6": "log-adjacency-changes",
    "isis": "log-adjacency-changes",
    "bgp": "bgp log-neighbor-changes",
}
"""The command by which each protocol's daemon tells of its neighbours (`adjacencies.py`)."""
LEAST_LOOPBACK_COST6 = 1
"""The least cost of a loopback that ospf6d takes; its own is 10."""
LAST_LINES = """\
! The next line is no command. That a daemon complains of it tells that it has read all others.
end-of-file
"""


def programs(router: Router, own: str | None = None) -> NodePrograms:
    """Return FRR's files and programs: zebra, which sets the kernel's routes, then protocols.

    `own` is a `frr.conf` that takes the place of that made from the lab.

    Those are restarted with zebra, as `watchfrr` does: they connect to a new one only after 10 s,
    and ospfd (8.4) never repeats a route that changed meanwhile.
    """
    text = config(router) if own is None else _with_events(own)
    daemons = _daemons(router)
    given = bool(router.routing.added) or own is not None
    texts = {
        CONFIG: text if own is None else own,
        VTYSH: "service integrated-vtysh-config\n",
        **{
            file_of(name): part + (LAST_LINES if given else "")
            for name, part in parts(text, [ZEBRA, *daemons]).items()
        },
    }
    files = {
        path: FileSpec(content=content, mode="640", owner=OWNER) for path, content in texts.items()
    }
    programs = [_zebra(), *(_daemon(name) for name in daemons)]
    last = len((text + LAST_LINES).splitlines()) if given else None
    return NodePrograms(files, programs, dict.fromkeys(daemons, ZEBRA), read_at_line=last)


def _with_events(own: str) -> str:
    """Return the user's own configuration, with lines that make daemons log their neighbours.

    Without them nothing says when a neighbour was given up. They come last, so that all other lines
    keep their numbers.
    """
    lines = [PRECISE]
    for block in dict.fromkeys(line.strip() for line in own.splitlines()):
        match block.split():
            case ["router", protocol, *_] if protocol in EVENTS:
                lines += [block, f" {EVENTS[protocol]}", "exit"]
    return own.rstrip("\n") + "\n" + "\n".join(lines) + "\n"


def file_of(daemon: str) -> str:
    """Return the file that a daemon reads: the lines of `frr.conf` that are for it."""
    return f"{FOLDER}/{daemon}.conf"


def _daemons(router: Router) -> list[str]:
    routing = router.routing
    of_ospf = [name for version, name in ((4, "ospfd"), (6, "ospf6d")) if version in router.ip]
    return [
        *(["staticd"] if router.static else []),
        *(["bfdd"] if routing.bfd else []),
        *(of_ospf if routing.ospf else []),
        *(["isisd"] if routing.isis else []),
        *(["bgpd"] if routing.bgp else []),
    ]


def _zebra() -> ProgramSpec:
    # The folder is made by a service of the distribution, which runs in no node.
    made = f"mkdir -p {SOCKETS} && chown frr:frr {SOCKETS}"
    run = f"{made} && exec {' '.join(_command(ZEBRA))}"
    ready = Exists(file=f"{SOCKETS}/zserv.api")
    return ProgramSpec(run=run, name=ZEBRA, env=ZONE, ready=ready)


def _daemon(name: str) -> ProgramSpec:
    return ProgramSpec(
        run=_command(name), name=name, env=ZONE, ready=Exists(file=f"{SOCKETS}/{name}.vty")
    )


def _command(name: str) -> list[str]:
    # What it does not take of its file is printed even if that says nothing of a log.
    quiet = ["-A", "127.0.0.1", "-P", "0"]
    return [f"{PROGRAMS}/{name}", "-f", file_of(name), "--log", "stdout", *quiet]


def config(router: Router) -> str:
    """Return the text of `frr.conf`, of which each daemon of the router reads its part."""
    routing = router.routing
    lines = ["frr defaults traditional", f"hostname {router.name}", PLAIN_ROUTES]
    lines += ["log stdout", PRECISE]
    for port in router.ports:
        lines += [f"interface {port.device}", *_of_port(router, port), "exit"]
    lines += ["interface lo", *_of_loopback(router), "exit"]
    lines += _static(router)
    if routing.bfd:
        lines += _bfd(routing.bfd)
    if routing.ospf:
        lines += frr_ospf.of_router(router, routing.ospf)
    if routing.isis:
        lines += _isis(router, routing.isis)
    if routing.bgp:
        lines += _bgp(router, routing.bgp)
    return "\n".join(lines) + "\n" + routing.added


def _static(router: Router) -> Iterator[str]:
    for each in router.static:
        command = "ip route" if each.version == 4 else "ipv6 route"
        yield f"{command} {each.to} {each.via or DISCARDS[each.type]}"


def _bfd(bfd: BfdSpec) -> Iterator[str]:
    yield "bfd"
    yield f" profile {BFD_PROFILE}"
    yield f"  detect-multiplier {bfd.multiplier}"
    yield f"  transmit-interval {bfd.interval.ns // 1_000_000}"
    yield f"  receive-interval {bfd.interval.ns // 1_000_000}"
    yield " exit"
    yield "exit"


def _of_port(router: Router, port: RouterPort) -> Iterator[str]:
    routing = router.routing
    if (told := routing.router_advertisements.get(port.link)) is not None:
        yield from _advertised(told, port)
    ospf = None if "ospf" in port.off else routing.ospf
    if ospf:
        yield from frr_ospf.of_port(router, ospf, port)
    if routing.isis and "isis" not in port.off:
        yield from _isis_of_port(router, routing.isis, port)


def _advertised(told: AdvertisementSpec, port: RouterPort) -> Iterator[str]:
    """Yield the lines by which zebra sends router advertisements with the link's networks."""
    yield " no ipv6 nd suppress-ra"
    yield f" ipv6 nd ra-interval {seconds(told.interval)}"
    yield f" ipv6 nd ra-lifetime {seconds(told.lifetime)}"
    for address in map(ip_interface, port.addresses):
        if address.version == 6:
            yield f" ipv6 nd prefix {address.network}{'' if told.autoconf else ' no-autoconfig'}"


def _isis_of_port(router: Router, isis: IsisSpec, port: RouterPort) -> Iterator[str]:
    yield from _isis_on(router)
    yield f" isis metric {port.cost}"
    if not port.hearing("isis"):
        yield " isis passive"
        return
    if port.network == "point-to-point":
        yield " isis network point-to-point"
    yield f" isis hello-interval {seconds(isis.hello)}"
    yield f" isis hello-multiplier {isis.multiplier}"
    if router.routing.bfd:
        yield " isis bfd"
        yield f" isis bfd profile {BFD_PROFILE}"


def _isis_on(router: Router) -> Iterator[str]:
    if 4 in router.ip:
        yield f" ip router isis {INSTANCE}"
    if 6 in router.ip:
        yield f" ipv6 router isis {INSTANCE}"


def _of_loopback(router: Router) -> Iterator[str]:
    ospf = router.routing.ospf if router.loopbacks else None
    if ospf and 4 in router.ip:
        yield f" ip ospf area {router.area_of_loopback(ospf)}"
        if ospf.loopback_cost:
            # 0 is what FRR has by itself, and its command does not take it.
            yield f" ip ospf cost {ospf.loopback_cost}"
    if ospf and 6 in router.ip:
        yield f" ipv6 ospf6 area {router.area_of_loopback(ospf)}"
        yield f" ipv6 ospf6 cost {max(ospf.loopback_cost, LEAST_LOOPBACK_COST6)}"
    if router.routing.isis:
        yield from _isis_on(router)
        yield " isis passive"


def _isis(router: Router, isis: IsisSpec) -> Iterator[str]:
    digits = "".join(f"{int(part):03}" for part in router.router_id.split("."))
    system = ".".join(digits[at : at + 4] for at in range(0, 12, 4))
    yield f"router isis {INSTANCE}"
    # Before `net`, which makes the first LSP: the next one comes after the interval of that moment.
    yield f" lsp-gen-interval {seconds(isis.lsp_interval)}"
    yield f" spf-interval {seconds(isis.spf_interval)}"
    yield f" net 49.0001.{system}.00"
    yield " is-type level-2-only"
    yield " metric-style wide"
    yield " log-adjacency-changes"
    yield "exit"


def _bgp(router: Router, bgp: BgpSpec) -> Iterator[str]:
    outside = [peer for port in router.ports for peer in port.peers if peer.as_number is not None]
    outside = [peer for peer in outside if peer.as_number != router.as_number]
    yield f"router bgp {router.as_number}"
    yield f" bgp router-id {router.router_id}"
    yield " no bgp ebgp-requires-policy"
    yield " no bgp default ipv4-unicast"
    yield " bgp log-neighbor-changes"
    yield " bgp bestpath as-path multipath-relax"
    for peer in (*outside, *router.inside):
        for address in peer.addresses:
            yield f" neighbor {address} remote-as {peer.as_number}"
            yield f" neighbor {address} timers {seconds(bgp.keepalive)} {seconds(bgp.hold)}"
            yield f" neighbor {address} timers connect 1"
            yield f" neighbor {address} advertisement-interval 0"
            if peer in router.inside:
                yield f" neighbor {address} update-source lo"
            elif router.routing.bfd:
                yield f" neighbor {address} bfd"
                yield f" neighbor {address} bfd profile {BFD_PROFILE}"
    for version in router.ip:
        yield f" address-family ipv{version} unicast"
        yield "  redistribute connected"
        for source in bgp.imports:
            # The word for OSPF's version 3 is another one.
            yield f"  redistribute {'ospf6' if (source, version) == ('ospf', 6) else source}"
        yield f"  maximum-paths {MOST_PATHS}"
        yield f"  maximum-paths ibgp {MOST_PATHS}"
        for peer in (*outside, *router.inside):
            yield from _activated(peer, version, own_as=peer in router.inside)
        yield " exit-address-family"
    yield "exit"


def _activated(peer: Peer, version: int, *, own_as: bool) -> Iterator[str]:
    for address in of_version(peer.addresses, version):
        yield f"  neighbor {address} activate"
        if own_as:
            yield f"  neighbor {address} next-hop-self"
