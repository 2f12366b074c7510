"""The points where a probe's packets are stamped, and the reasons for absent ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from delaylab.errors import BadInput
from delaylab.plan.attachment import Attachment, TapPoint
from delaylab.plan.kept import KeptPlan
from delaylab.plan.ways.path import MOST_PATHS, NodePath, node_paths
from delaylab.plan.ways.probe_end import ProbeEnd
from delaylab.plan.ways.probed import ProbedPackets
from delaylab.points import (
    AT_SERVICE,
    RESPONDER,
    SENDER,
    SOCKET_POINTS,
    TUNNEL,
    WIRE,
    bare,
    location,
    role,
)
from delaylab.resolve.agent_names import node_agent
from delaylab.resolve.lab import Lab

NO_SOCKET = {
    "icmp": "the kernel answers ICMP itself: there is no socket to stamp",
    "tcp": "the kernel answers a SYN itself: there is no socket to stamp",
    "http": "the reflector takes no stamps of connections itself",
}
"""The reason for absent points of delaylab's responder, by protocol."""
OF_SERVICE = "a service answers: it takes no stamps itself"
BY_KERNEL = ("icmp", "tcp")
"""Protocols that the kernel answers itself: their packets reach no service's socket."""
ONE_HOST = "both nodes are on one host: no {what} is between them"
OWN_LINK = "this end's link is on one host: no {what} is on it"
NO_QUEUE_STAMP = "no stamp is taken of such a packet when it enters the queue"
SAME_AS_UPLINK = "such a packet is stamped at the interface: that is the uplink"


@dataclass(frozen=True)
class PlannedHop:
    """A link on the way from `start` to `end`, with the points before and after it."""

    link: str
    start: str
    end: str
    near: str
    far: str


@dataclass(frozen=True)
class ProbeWay:
    """The way of a probe: its addresses, taps, and the points of each leg in order.

    The points of routers are named by their location.
    `absent` gives the reasons for points that it does not have. `hops` are the links that a request
    takes, `back` those of a reply, None if they are the same. A `source` of None leaves the address
    to the sender's routes. `others` are further ways of the same cost, which the routes of a lab
    with `multipath` use as well; their `others` are empty. `beside` are taps at interfaces of other
    routers, where routing daemons may send packets once a link or a router fails.
    """

    source: str | None
    target: str
    taps: tuple[TapPoint, ...]
    request: tuple[str, ...]
    reply: tuple[str, ...]
    absent: dict[str, str]
    hops: tuple[PlannedHop, ...]
    back: tuple[PlannedHop, ...] | None = None
    others: tuple[ProbeWay, ...] = ()
    beside: tuple[TapPoint, ...] = ()

    @property
    def every(self) -> tuple[ProbeWay, ...]:
        """Return all ways of the probe."""
        return (self, *self.others)

    @property
    def every_tap(self) -> tuple[TapPoint, ...]:
        """Return the taps of all ways, each once."""
        return tuple(dict.fromkeys(tap for way in self.every for tap in way.taps))

    def places(self, sender: str, responder: str | None) -> dict[str, tuple[str, str | None]]:
        """Return each point of the path with the agent that stamps there, and its tap's interface.

        `sender` and `responder` are the agents whose sockets stamp at the other points.
        """
        tapped = {
            tap.point: (tap.agent, tap.interface)
            for tap in reversed((*self.every_tap, *self.beside))
        }
        by_socket = {SENDER: sender, RESPONDER: responder}
        found: dict[str, tuple[str, str | None]] = {}
        for point in (point for way in self.every for point in (*way.request, *way.reply)):
            agent = by_socket.get(role(point))
            if point in tapped:
                found[point] = tapped[point]
            elif agent is not None:
                found[point] = agent, None
        return {tap.point: tapped[tap.point] for tap in self.beside} | found

    @property
    def by_sender(self) -> tuple[str, ...]:
        """Return the points of SOCKET_POINTS that the sender stamps itself."""
        there = {*self.request, *self.reply}
        return tuple(point for point in SOCKET_POINTS if f"sender.{point}" in there)

    @property
    def has_service(self) -> bool:
        """Return True if packets are stamped at the sockets of the service that answers."""
        return AT_SERVICE in self.request

    def without_service(self, why: str) -> ProbeWay:
        """Return the way without the point at the service's sockets, for a reason."""

        def left(points: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(point for point in points if point != AT_SERVICE)

        return replace(
            self,
            request=left(self.request),
            reply=left(self.reply),
            absent={**self.absent, AT_SERVICE: why},
            others=tuple(each.without_service(why) for each in self.others),
        )


def probe_way(plan: KeptPlan, lab: Lab, probe: ProbedPackets) -> ProbeWay:
    """Return the way of a probe; raise BadInput if there is no path between its nodes."""
    there = node_paths(plan, lab, probe.sender, probe.to, probe.over)
    _check_announced(lab, probe, there[0])
    # A reply goes to the address that the request came from: a loopback's, or that on its link.
    arrives_by = None if _loopback(plan, lab, probe, probe.sender) else there[0].links[0]
    back = node_paths(plan, lab, probe.to, probe.sender, arrives_by)
    pairs = [(one, other) for one in there for other in back][:MOST_PATHS]
    first, *others = [way_over(plan, lab, probe, one, other) for one, other in pairs]
    found = replace(first, others=tuple(others))
    if not lab.has_daemons:
        return found
    planned = set(found.every_tap)
    beside = dict.fromkeys(tap for tap in _beside(plan, lab, probe) if tap not in planned)
    return replace(found, beside=tuple(beside))


def _check_announced(lab: Lab, probe: ProbedPackets, path: NodePath) -> None:
    """Raise BadInput if a probe names a link, and routers do not know the addresses of its ends."""
    if probe.over is None or len(path.links) == 1:
        return
    hidden = lab.hidden_links
    for node, link in ((probe.to, probe.over), (probe.sender, path.links[0])):
        if link in hidden:
            what = f"the address of {node!r} on link {link!r} is not announced"
            fix = "leave out `over`, which asks for it, or `prefix_suppression`"
            raise BadInput(what, fix=fix)


def _beside(plan: KeptPlan, lab: Lab, probe: ProbedPackets) -> Iterator[TapPoint]:
    """Yield taps at every interface of a router by which packets of a probe can leave it or come.

    Links that lead to one router alone, and to neither end of the probe, are left out.
    """
    ends = {probe.sender: SENDER, probe.to: RESPONDER}
    for name, link in lab.links.items():
        passing = [node for node in link.members if lab.nodes[node].forwards or node in ends]
        crossed = _crossed(lab, link.members)
        for node in passing if len(passing) > 1 else ():
            attachment = plan.attachment(node, name)
            if node in ends:
                yield from _at_end(ProbeEnd(ends[node], attachment, *crossed), probe)
            else:
                yield from _at_router(attachment, crossed, wire=True)


def _at_end(end: ProbeEnd, probe: ProbedPackets) -> Iterator[TapPoint]:
    """Yield the taps of an end of a probe at one of its links."""
    yield from end.taps()
    if end.role == RESPONDER and _no_socket(probe) and end.has_cable:
        yield TapPoint(end.agent, end.attachment.device, "responder.stack")


def way_over(
    plan: KeptPlan, lab: Lab, probe: ProbedPackets, path: NodePath, back: NodePath
) -> ProbeWay:
    """Return the way of a probe whose requests take one path and whose replies take another."""
    out = _PathPoints.of(plan, lab, path)
    same_way_back = back.links == path.links[::-1]
    turned = NodePath(back.nodes[::-1], back.links[::-1])
    home = out if same_way_back else _PathPoints.of(plan, lab, turned)
    sender, responder = out.sender, out.responder
    taps = [*out.taps(), *home.taps()]
    one_host = OWN_LINK if any(each.hosts for each in out.crossed) else ONE_HOST
    absent = {
        point: why
        for end in (sender, responder)
        for point, why in end.absent(one_host.format(what="uplink")).items()
    }
    if not out.crossed[-1].hosts:
        absent[WIRE] = one_host.format(what="wire")
    sockets = SOCKET_POINTS
    no_socket = _no_socket(probe)
    if no_socket:
        sockets = ("stack",) if responder.has_cable else ()
        absent |= {
            f"responder.{point}": no_socket for point in SOCKET_POINTS if point not in sockets
        }
        if responder.has_cable:
            taps += [
                TapPoint(each.agent, each.attachment.device, "responder.stack")
                for each in (responder, home.responder)
            ]
        if probe.protocol not in BY_KERNEL:
            sockets = (*sockets, bare(AT_SERVICE))
    by_sender, missing = _by_sender(probe, sender)
    absent |= missing
    sending, answering = list(by_sender), list(sockets)
    # Stamps of taps, unlike those of sockets, need nothing of the driver.
    for side, node, points in (
        (SENDER, probe.sender, [] if probe.by_port else sending),
        (RESPONDER, probe.to, [] if no_socket else answering),
    ):
        why = plan.nodes[node].no_send_stamp
        if why is not None and "stack" in points:
            points.remove("stack")
            absent[f"{side}.stack ({'request' if side == SENDER else 'reply'})"] = why
    return ProbeWay(
        source=_loopback(plan, lab, probe, probe.sender) or _address(sender.attachment, probe.ip),
        target=_loopback(plan, lab, probe, probe.to) or _address(responder.attachment, probe.ip),
        taps=tuple(sorted(dict.fromkeys(taps), key=lambda tap: role(tap.agent) == WIRE)),
        request=(*sender.outward(sending), *out.routers(), *responder.inward(sockets)),
        reply=(
            *home.responder.outward(answering),
            *home.routers()[::-1],
            *home.sender.inward(by_sender),
        ),
        absent=absent,
        hops=tuple(_hops(path)),
        back=None if same_way_back else tuple(_hops(back, RESPONDER, SENDER)),
    )


class _Crossed(NamedTuple):
    """Boundaries that a way crosses on a link: of a host, and of a machine."""

    hosts: bool
    machines: bool


def _crossed(lab: Lab, nodes: Iterable[str]) -> _Crossed:
    nodes = list(nodes)
    machines = {lab.machine_of(lab.host_of(node)) for node in nodes}
    return _Crossed(lab.leaves_host(nodes), len(machines) > 1)


@dataclass(frozen=True)
class _PathPoints:
    """Both ends of a path, the taps between them, and for each link what it crosses."""

    sender: ProbeEnd
    responder: ProbeEnd
    between: tuple[TapPoint, ...]
    crossed: tuple[_Crossed, ...]

    @classmethod
    def of(cls, plan: KeptPlan, lab: Lab, path: NodePath) -> _PathPoints:
        """Return the points of a path from the sender to the responder."""
        crossed = tuple(_crossed(lab, ends) for ends in pairwise(path.nodes))
        first = plan.attachment(path.nodes[0], path.links[0])
        last = plan.attachment(path.nodes[-1], path.links[-1])
        return cls(
            ProbeEnd(SENDER, first, *crossed[0]),
            ProbeEnd(RESPONDER, last, *crossed[-1]),
            tuple(_between(plan, _hops(path), crossed)),
            crossed,
        )

    def taps(self) -> list[TapPoint]:
        """Return all taps, in the order of a request."""
        return [*self.sender.taps(), *self.between, *self.responder.taps()]

    def routers(self) -> list[str]:
        """Return the points between the ends, in the order of a request."""
        return [tap.point for tap in self.between]


def _no_socket(probe: ProbedPackets) -> str | None:
    """Return why no socket stamps at the responder; None if one does."""
    return OF_SERVICE if probe.answered_by_service else NO_SOCKET.get(probe.protocol)


def _by_sender(probe: ProbedPackets, sender: ProbeEnd) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the points that the sender stamps itself, and the reasons for those it does not."""
    if not probe.by_port:
        return SOCKET_POINTS, {}
    absent = {"sender.qdisc": NO_QUEUE_STAMP}
    if sender.uplink_is_own:
        return ("app",), {**absent, "sender.stack": SAME_AS_UPLINK}
    return ("app", "stack"), absent


def _hops(path: NodePath, start: str = SENDER, end: str = RESPONDER) -> list[PlannedHop]:
    """Return the links of a path from the node on one side to that on the other."""
    last = len(path.links) - 1
    return [
        PlannedHop(
            link,
            one,
            other,
            near=location(one, link) if number else f"{start}.vif",
            far=location(other, link) if number < last else f"{end}.vif",
        )
        for number, (link, (one, other)) in enumerate(
            zip(path.links, pairwise(path.nodes), strict=True)
        )
    ]


def _between(plan: KeptPlan, hops: list[PlannedHop], crossed: Sequence[_Crossed]) -> list[TapPoint]:
    """Return the taps between the two ends of a way, in the order of a request.

    `crossed` is what each hop crosses. The responder's tunnel is there: the wire comes after it.
    """
    taps: list[TapPoint] = []
    for hop, crossing in zip(hops, crossed, strict=True):
        if hop is not hops[0]:
            taps += _at_router(plan.attachment(hop.start, hop.link), crossing)
        arriving = plan.attachment(hop.end, hop.link)
        if hop is not hops[-1]:
            taps += _at_router(arriving, crossing, wire=True)[::-1]
        else:
            tunnel = arriving.step(TUNNEL) if crossing.machines else None
            wire = arriving.step(WIRE) if crossing.hosts else None
            taps += [replace(tunnel, point=f"{RESPONDER}.{TUNNEL}")] if tunnel else []
            taps += [wire] if wire else []
    return taps


def _at_router(attachment: Attachment, crossed: _Crossed, *, wire: bool = False) -> list[TapPoint]:
    """Return the taps of a router on a link, from its interface outward.

    The interface's tap is on its host if a vif is there, else in the router. There is none in a
    host's own stack, whose interface to a link is a bridge: a packet there already has the stamp of
    the port that it came in by. Uplink and `wire` are there if the link crosses hosts, the tunnel
    if it crosses machines.
    """
    name = location(attachment.node, attachment.link)
    vif = attachment.step("vif")
    if vif is None and not attachment.in_host_stack:
        vif = TapPoint(node_agent(attachment.node), attachment.device, name)
    outward = [attachment.step("uplink")] if crossed.hosts else []
    outward += [attachment.step(WIRE)] if crossed.hosts and wire else []
    outward += [attachment.step(TUNNEL)] if crossed.machines else []
    return [
        *([replace(vif, point=name)] if vif else []),
        *(replace(step, point=f"{name}.{step.point}") for step in outward if step),
    ]


def _loopback(plan: KeptPlan, lab: Lab, probe: ProbedPackets, node: str) -> str | None:
    """Return the address of a router's loopback if packets of a probe go to it and from it.

    They do not if the probe names a link, or the lab sets no routes that lead there.
    """
    led = probe.over is None and lab.has_paths
    return plan.nodes[node].loopback(probe.ip) if led else None


def _address(attachment: Attachment, version: int) -> str:
    for each in attachment.interfaces():
        if each.version == version:
            return str(each.ip)
    node, link = attachment.node, attachment.link
    raise BadInput(f"node {node!r} has no IPv{version} address on link {link!r}")
