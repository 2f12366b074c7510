"""The points where a probe's packets are stamped, and the reasons for absent ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from delaylab.errors import BadInput
from delaylab.plan.agent_names import node_agent
from delaylab.plan.attachment import Attachment, TapPoint
from delaylab.plan.model import Plan
from delaylab.plan.path import NodePath, node_path
from delaylab.plan.probe_end import ProbeEnd
from delaylab.points import HOP, RESPONDER, SENDER, SOCKET_POINTS, WIRE, role
from delaylab.spec.lab import LabSpec
from delaylab.spec.study import ProbeSpec

NO_SOCKET = {
    "icmp": "the kernel answers ICMP itself: there is no socket to stamp",
    "tcp": "the kernel answers a SYN itself: there is no socket to stamp",
    "http": "the reflector takes no stamps of connections",
}
"""The reason for absent points of the responder, by protocol."""
NO_QUEUE_STAMP = "the kernel takes no stamp of a TCP segment when it enters the queue"
SAME_AS_UPLINK = "a TCP segment is stamped at the interface: that is the uplink"
OVER_ROUTERS = "the way leads over routers: between their interfaces nothing is stamped"


@dataclass(frozen=True)
class Hop:
    """A link on the way from `start` to `end`, with the points before and after it."""

    link: str
    start: str
    end: str
    near: str
    far: str


@dataclass(frozen=True)
class ProbeWay:
    """The way of a probe: its addresses, taps, and the points of each leg in order.

    `absent` gives the reasons for points that it does not have. `hops` are its links in the order
    in which a request takes them. A `source` of None leaves the address to the sender's routes.
    """

    source: str | None
    target: str
    taps: tuple[TapPoint, ...]
    request: tuple[str, ...]
    reply: tuple[str, ...]
    absent: dict[str, str]
    hops: tuple[Hop, ...]

    def places(self, sender: str, responder: str | None) -> dict[str, tuple[str, str | None]]:
        """Return each point of the path with the agent that stamps there, and its tap's interface.

        `sender` and `responder` are the agents whose sockets stamp at the other points.
        """
        tapped = {tap.point: (tap.agent, tap.interface) for tap in self.taps}
        by_socket = {SENDER: sender, RESPONDER: responder}
        found: dict[str, tuple[str, str | None]] = {}
        for point in (*self.request, *self.reply):
            agent = by_socket.get(role(point))
            if point in tapped:
                found[point] = tapped[point]
            elif agent is not None:
                found[point] = agent, None
        return found

    @property
    def by_sender(self) -> tuple[str, ...]:
        """Return the points of SOCKET_POINTS that the sender stamps itself."""
        there = {*self.request, *self.reply}
        return tuple(point for point in SOCKET_POINTS if f"sender.{point}" in there)


def probe_way(plan: Plan, lab: LabSpec, probe: ProbeSpec) -> ProbeWay:
    """Return the way of a probe; raise BadInput if there is no path between its nodes."""
    found = node_path(plan, lab, probe.sender, probe.to, probe.over)
    crosses = [lab.host_of(one) != lab.host_of(two) for one, two in _pairs(found)]
    direct, wired = len(found.links) == 1, crosses == [True]
    first, last = (plan.attachment(node, found.links[at]) for node, at in _ends_of(found))
    sender, responder = ProbeEnd(SENDER, first, wired), ProbeEnd(RESPONDER, last, wired)
    routers = _routers(plan, found)
    between = [tap.point for tap in routers]
    taps = [*sender.taps(), *routers, *responder.taps()]
    absent = {**sender.absent(), **responder.absent()}
    if wired:
        taps.append(responder.wire())
        between = [WIRE]
    else:
        absent[WIRE] = "both nodes are on one host: no wire is between them"
    if not direct and any(crosses):
        absent |= dict.fromkeys(("sender.uplink", "responder.uplink", WIRE), OVER_ROUTERS)
    sockets = SOCKET_POINTS
    no_socket = NO_SOCKET.get(probe.protocol)
    if no_socket:
        sockets = ("stack",) if responder.has_cable else ()
        absent |= {
            f"responder.{point}": no_socket for point in SOCKET_POINTS if point not in sockets
        }
        if responder.has_cable:
            taps.append(TapPoint(responder.agent, last.device, "responder.stack"))
    by_sender, missing = _by_sender(probe, sender)
    absent |= missing
    sending, answering = list(by_sender), list(sockets)
    # Stamps of taps, unlike those of sockets, need nothing of the driver.
    for side, node, points in (
        (SENDER, probe.sender, [] if probe.connects else sending),
        (RESPONDER, probe.to, [] if no_socket else answering),
    ):
        why = plan.nodes[node].no_send_stamp
        if why is not None and "stack" in points:
            points.remove("stack")
            absent[f"{side}.stack ({'request' if side == SENDER else 'reply'})"] = why
    back = node_path(plan, lab, probe.to, probe.sender, found.links[0])
    same_way_back = back.links == found.links[::-1]
    return ProbeWay(
        source=_address(first, probe.ip),
        target=_address(last, probe.ip),
        taps=tuple(taps),
        request=(*sender.outward(sending), *between, *responder.inward(sockets)),
        reply=(
            *responder.outward(answering),
            *(between[::-1] if same_way_back else ()),
            *sender.inward(by_sender),
        ),
        absent=absent,
        hops=tuple(_hops(found)),
    )


def _by_sender(probe: ProbeSpec, sender: ProbeEnd) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the points that the sender stamps itself, and the reasons for those it does not."""
    if not probe.connects:
        return SOCKET_POINTS, {}
    absent = {"sender.qdisc": NO_QUEUE_STAMP}
    if sender.uplink_is_own:
        return ("app",), {**absent, "sender.stack": SAME_AS_UPLINK}
    return ("app", "stack"), absent


def _ends_of(found: NodePath) -> tuple[tuple[str, int], tuple[str, int]]:
    """Return the nodes at both ends of a path, each with the place of its link on it."""
    return (found.nodes[0], 0), (found.nodes[-1], -1)


def _pairs(found: NodePath) -> list[tuple[str, str]]:
    return list(zip(found.nodes, found.nodes[1:], strict=False))


def _hops(found: NodePath) -> list[Hop]:
    last = len(found.links) - 1
    return [
        Hop(
            link,
            *_pairs(found)[number],
            near=f"hop{number}.far" if number else "sender.vif",
            far=f"hop{number + 1}.near" if number < last else "responder.vif",
        )
        for number, link in enumerate(found.links)
    ]


def _routers(plan: Plan, found: NodePath) -> list[TapPoint]:
    """Return the taps on both sides of each router on the way: `near` is the sender's side."""
    taps = []
    for number, node in enumerate(found.nodes[1:-1], start=1):
        for name, link in (("near", found.links[number - 1]), ("far", found.links[number])):
            tap = _at_router(plan.attachment(node, link), f"{HOP}{number}.{name}")
            taps += [tap] if tap else []
    return taps


def _at_router(attachment: Attachment, point: str) -> TapPoint | None:
    """Return the tap at a router's interface: on its host if a vif is there, else in the router.

    Returns None in a host's own stack, whose interface to a link is a bridge: a packet there
    already has the stamp of the port that it came in by.
    """
    vif = attachment.step("vif")
    if vif is not None:
        return replace(vif, point=point)
    if attachment.in_host_stack:
        return None
    return TapPoint(node_agent(attachment.node), attachment.device, point)


def _address(attachment: Attachment, version: int) -> str:
    for each in attachment.interfaces():
        if each.version == version:
            return str(each.ip)
    node, link = attachment.node, attachment.link
    raise BadInput(f"node {node!r} has no IPv{version} address on link {link!r}")
