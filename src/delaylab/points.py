"""The points where a packet can be stamped, and the layers between them.

A point's full name begins with the role of the side that it is on (`sender.vif`), except that of
the wire before the responder. A router's points are recorded by `location`, the router and the link
(`r1@lan`); on the way of a packet they have the role that its order gives them (`hop2.near`). How a
packet passes a side depends on the node's stack, `Stack`: in its host's own stack the uplink's tap
sees an outgoing packet before the driver stamps it; a received packet is handed up at once, so
there is no queue on the way in; a Xen domain's packets pass the driver domain, which reaches its
host by another virtual interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

SENDER, RESPONDER = "sender", "responder"
LEGS: tuple[Literal["request"], Literal["reply"]] = ("request", "reply")
"""The two legs of a packet's round trip."""
WIRE = "wire"
HOP = "hop"
"""The prefix of a router's points: `hop1.near` towards the sender, `hop1.far` away from it."""
NEAR, FAR = "near", "far"
TUNNEL = "tunnel"
AT_SERVICE = f"{RESPONDER}.socket"
"""The point at the sockets of a service that answers a probe."""
OF_ROUTER = ("", ".uplink", ".wire", ".tunnel")
"""The ends of the names of a router's points on a link, from its interface outward."""


@dataclass(frozen=True)
class Point:
    """A point: the stamp's maker, and the place of the packet, as `the packet is …`."""

    name: str
    stamped_by: Literal["socket", "tap"]
    packet_is: str


CATALOGUE = (
    Point(
        "app", "socket", "in user space, just before the send call or just after the receive call"
    ),
    Point("qdisc", "socket", "handed to the interface's queue (TX_SCHED)"),
    Point("stack", "socket", "at the node's network driver, or received by the node's kernel"),
    Point(
        "socket",
        "tap",
        "at the service's socket: it has passed the network stack, or does not enter it yet",
    ),
    Point("dom0", "tap", "at the domain's interface in Xen's driver domain"),
    Point(
        "vif",
        "tap",
        "at the host's end of the node's interface: veth, TAP device or Xen's backend",
    ),
    Point("uplink", "tap", "at the host's uplink"),
    Point(WIRE, "tap", "at the end of the wire towards the responder, or towards router N"),
    Point(
        TUNNEL,
        "tap",
        "where the link leaves its machine for another one, or comes from there: not yet, or no "
        "longer, on the network between them",
    ),
    Point(NEAR, "tap", "at the interface of router N towards the sender"),
    Point(FAR, "tap", "at the interface of router N away from the sender"),
)
"""All points. `stack` is a tap's where no socket answers, and `near` and `far` are a router's."""
SOCKET_POINTS = tuple(point.name for point in CATALOGUE if point.stamped_by == "socket")
ON_HOST = ("vif", "uplink")
"""The points of a side that are on the node's host."""
BY_SIDE = tuple(point.name for point in CATALOGUE if point.name not in (WIRE, NEAR, FAR))
BETWEEN_HOSTS = (
    *(f"{SENDER}.{point}" for point in (*SOCKET_POINTS, *ON_HOST)),
    WIRE,
    *(f"{RESPONDER}.{point}" for point in (*ON_HOST[::-1], *SOCKET_POINTS[::-1])),
)
"""The full names of the points of a probe between nodes on two hosts, in a request's order."""
_ROUTER = rf"({HOP}[1-9][0-9]{{0,3}}\.({NEAR}|{FAR})|[a-z][a-z0-9-]{{0,40}}@[a-z][a-z0-9-]{{0,40}})"
_OUTWARD = rf"(\.uplink|\.{WIRE}|\.{TUNNEL})?"
PATTERN = rf"^({WIRE}|({SENDER}|{RESPONDER})\.({'|'.join(BY_SIDE)})|{_ROUTER}{_OUTWARD})$"
"""The form of the full name of a point."""


class Stack(Enum):
    """The relation of a node's network stack to its host."""

    VIRTUAL = "by a virtual interface"
    DOMAIN = "by a virtual interface to Xen's driver domain"
    HOST = "it is the host's own"


BRIDGE_AND_UPLINK, BRIDGE, DRIVER_DOMAIN = "bridge and uplink queue", "bridge", "driver domain"
UNDERLAY = "underlay"
"""The layer between the tunnels of two machines: VXLAN, if any, and the network between."""
VIRTUAL_INTERFACE = "virtual interface"
_NETWORK_STACK = "network stack"
_TO_QUEUE = ("app", "user space to kernel", "socket", _NETWORK_STACK, "qdisc")
_TO_USER = ("stack", _NETWORK_STACK, "socket", "kernel to user space", "app")

OUT: dict[Stack, tuple[str, ...]] = {
    Stack.VIRTUAL: (
        *(*_TO_QUEUE, "queue", "stack", VIRTUAL_INTERFACE, "vif"),
        *(BRIDGE_AND_UPLINK, "uplink", WIRE, WIRE, WIRE, TUNNEL),
    ),
    Stack.DOMAIN: (
        *(*_TO_QUEUE, "queue", "stack", VIRTUAL_INTERFACE, "dom0", DRIVER_DOMAIN, "vif"),
        *(BRIDGE_AND_UPLINK, "uplink", WIRE, WIRE, WIRE, TUNNEL),
    ),
    Stack.HOST: (*_TO_QUEUE, "uplink queue", "uplink", "driver", "stack", WIRE, WIRE, WIRE, TUNNEL),
}
"""Points and, between them, the layers that a packet passes from user space to the wire and, on a
link between machines, to the tunnel."""
IN: dict[Stack, tuple[str, ...]] = {
    Stack.VIRTUAL: (
        *(TUNNEL, WIRE, WIRE, WIRE, "uplink", BRIDGE, "vif", VIRTUAL_INTERFACE, *_TO_USER),
    ),
    Stack.DOMAIN: (
        *(
            TUNNEL,
            WIRE,
            WIRE,
            WIRE,
            "uplink",
            BRIDGE,
            "vif",
            DRIVER_DOMAIN,
            "dom0",
            VIRTUAL_INTERFACE,
        ),
        *_TO_USER,
    ),
    Stack.HOST: (TUNNEL, WIRE, WIRE, WIRE, "uplink", "driver", *_TO_USER),
}
"""The same from the tunnel or the wire to user space."""


def on_way(way: tuple[str, ...]) -> tuple[str, ...]:
    """Return the points of an entry of `OUT` or `IN`, without the layers between them."""
    return way[::2]


def layers_between(way: tuple[str, ...], start: str, end: str) -> list[str] | None:
    """Return the layers of an entry of `OUT` or `IN` from one point to a later one.

    Returns None if the way does not lead from the one to the other. The network stack is a layer of
    its own only where packets are stamped at sockets, else it is part of the one beside it.
    """
    points = on_way(way)
    if start not in points or end not in points or points.index(start) > points.index(end):
        return None
    found = way[1::2][points.index(start) : points.index(end)]
    return [each for each in found if each != _NETWORK_STACK or "socket" in (start, end)]


def meaning(point: str) -> Point:
    """Return the catalogue's entry of a point's full name; raise LookupError if it has none."""
    return next(each for each in CATALOGUE if each.name == bare(point))


LOCATION = r"^[^@.]+@[^.]+$"
"""The pattern of what `location` returns; the uplink and the wire of a link, `r1@lan.wire`, are at
the same place and do not match."""


def location(node: str, link: str) -> str:
    """Return the name by which a router's point on a link is recorded."""
    return f"{node}@{link}"


def role(point: str) -> str:
    """Return the side of a point: `sender`, `responder`, `wire`, or a router such as `hop1`."""
    return point.partition(".")[0]


def bare(point: str) -> str:
    """Return a point's name without its side."""
    return point.rpartition(".")[2]


def router_side(point: str) -> str | None:
    """Return the side of a router, `near` or `far`, that a point is on; None for other points."""
    return point.split(".")[1] if router_number(role(point)) is not None else None


def router_number(side: str) -> int | None:
    """Return the number of a router's side, counted from the sender; None for any other side."""
    return int(side.removeprefix(HOP)) if side.startswith(HOP) else None
