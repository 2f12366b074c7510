"""The points where a probe's packets are stamped, and the reasons for absent ones."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from delaylab.errors import BadInput
from delaylab.plan.agent_names import WIRE, host_agent
from delaylab.plan.model import Plan
from delaylab.plan.path import NodePath, node_path
from delaylab.plan.sides import Side, TapPoint, peer, side
from delaylab.spec.lab import LabSpec
from delaylab.spec.study import ProbeSpec

SOCKET_POINTS = ("app", "qdisc", "stack")
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
    """A link on the way from `start` to `end`, with the points before it and behind it."""

    link: str
    start: str
    end: str
    near: str
    far: str


@dataclass(frozen=True)
class ProbePath:
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

    @property
    def by_sender(self) -> tuple[str, ...]:
        """Return the points of SOCKET_POINTS that the sender stamps itself."""
        there = {*self.request, *self.reply}
        return tuple(point for point in SOCKET_POINTS if f"sender.{point}" in there)


def probe_path(plan: Plan, lab: LabSpec, probe: ProbeSpec) -> ProbePath:
    """Return the way of a probe; raise BadInput if there is no path between its nodes."""
    found = node_path(plan, lab, probe.sender, probe.to, probe.over)
    crosses = [lab.host_of(one) != lab.host_of(two) for one, two in _pairs(found)]
    direct, wired = len(found.links) == 1, crosses == [True]
    sender = side(plan, lab, probe.sender, found.links[0], "sender", wired)
    responder = side(plan, lab, probe.to, found.links[-1], "responder", wired)
    routers = _routers(plan, lab, found)
    between = [tap.point for tap in routers]
    taps = [*sender.taps(), *routers, *responder.taps()]
    absent = {**sender.absent(), **responder.absent()}
    if wired:
        taps.append(
            TapPoint(WIRE, peer(plan, host_agent(responder.host), responder.uplink), "wire")
        )
        between = ["wire"]
    else:
        absent["wire"] = "both nodes are on one host: no wire is between them"
    if not direct and any(crosses):
        absent |= dict.fromkeys(("sender.uplink", "responder.uplink", "wire"), OVER_ROUTERS)
    sockets: tuple[str, ...] = SOCKET_POINTS
    no_socket = NO_SOCKET.get(probe.protocol)
    if no_socket:
        sockets = ("stack",) if responder.cable else ()
        absent |= {
            f"responder.{point}": no_socket for point in SOCKET_POINTS if point not in sockets
        }
        if responder.cable:
            taps.append(TapPoint(responder.agent, responder.device, "responder.stack"))
    by_sender, missing = _by_sender(probe, sender)
    absent |= missing
    sending, answering = list(by_sender), list(sockets)
    # Stamps of taps, unlike those of sockets, need nothing of the driver.
    for role, node, points in (
        ("sender", probe.sender, [] if probe.connects else sending),
        ("responder", probe.to, [] if no_socket else answering),
    ):
        if node in plan.no_send_stamp and "stack" in points:
            points.remove("stack")
            absent[f"{role}.stack ({'request' if role == 'sender' else 'reply'})"] = (
                plan.no_send_stamp[node]
            )
    back = node_path(plan, lab, probe.to, probe.sender, found.links[0])
    same_way_back = back.links == found.links[::-1]
    return ProbePath(
        source=_address(plan, probe.sender, found.links[0], probe.ip),
        target=_address(plan, probe.to, found.links[-1], probe.ip),
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


def _by_sender(probe: ProbeSpec, sender: Side) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the points that the sender stamps itself, and the reasons for those it does not."""
    if not probe.connects:
        return SOCKET_POINTS, {}
    absent = {"sender.qdisc": NO_QUEUE_STAMP}
    if sender.uplink and not sender.cable:
        return ("app",), {**absent, "sender.stack": SAME_AS_UPLINK}
    return ("app", "stack"), absent


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


def _routers(plan: Plan, lab: LabSpec, found: NodePath) -> list[TapPoint]:
    """Return the taps on both sides of each router on the way: `near` is the sender's side."""
    taps = []
    for number, node in enumerate(found.nodes[1:-1], start=1):
        for name, link in (("near", found.links[number - 1]), ("far", found.links[number])):
            tap = _at(side(plan, lab, node, link, f"hop{number}", crosses=False), name)
            taps += [tap] if tap else []
    return taps


def _at(end: Side, name: str) -> TapPoint | None:
    """Return the tap at a router's interface: on its host if a vif is there, else in the router.

    Returns None in a host's own stack, whose interface to a link is a bridge: a packet there
    already has the stamp of the port that it came in by.
    """
    if end.vif:
        return TapPoint(host_agent(end.host), end.vif, f"{end.role}.{name}")
    return TapPoint(end.agent, end.device, f"{end.role}.{name}") if end.cable else None


def _address(plan: Plan, node: str, link: str, version: int) -> str:
    interface = next(i for i in plan.interfaces[node] if i.link == link)
    for text in interface.addresses:
        address = ipaddress.ip_interface(text).ip
        if address.version == version:
            return str(address)
    raise BadInput(f"node {node!r} has no IPv{version} address on link {link!r}")
