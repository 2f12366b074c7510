"""Layers of the machine to which segments belong, and the segments' directions."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

Direction = Literal["sending", "receiving", "remote"]

SLIP = "send slip"
RESPONDER = "responder"
OUTSIDE = "outside"
"""The layer of a turn whose host is outside of the lab: everything beyond the sender's side."""
TO_UPLINK, BRIDGE, WIRE = "bridge and uplink queue", "bridge", "wire"
ROUTER = "router"
HOP = "hop"
"""Prefix of points at a router's interfaces: `hop1.near` towards the sender, `hop1.far` away from
it."""

# Points and, between them, the layers that a packet passes: out of a node to the wire, and from the
# wire into a node. In the host's own stack the uplink's tap sees an outgoing packet before the
# driver stamps it. A received packet is handed up at once: there is no queue on the way in. A Xen
# domain's packets pass the driver domain, which reaches its host by another virtual interface.
_OUT = {
    "virtual": (
        *("app", "user space to kernel", "qdisc", "queue", "stack", "virtual interface", "vif"),
        *(TO_UPLINK, "uplink", WIRE, "wire"),
    ),
    "domain": (
        *("app", "user space to kernel", "qdisc", "queue", "stack", "virtual interface", "dom0"),
        *("driver domain", "vif", TO_UPLINK, "uplink", WIRE, "wire"),
    ),
    "own": (
        *("app", "user space to kernel", "qdisc", "uplink queue", "uplink", "driver", "stack"),
        *("wire", "wire"),
    ),
}
_IN = {
    "virtual": (
        *("wire", "wire", "uplink", "bridge", "vif", "virtual interface", "stack"),
        *("kernel to user space", "app"),
    ),
    "domain": (
        *("wire", "wire", "uplink", "bridge", "vif", "driver domain", "dom0"),
        *("virtual interface", "stack", "kernel to user space", "app"),
    ),
    "own": ("wire", "wire", "uplink", "driver", "stack", "kernel to user space", "app"),
}

WITH_CONDITIONS = "link with conditions"
# An engine applies conditions to what the nodes of its own host send. It only passes on what comes
# from other hosts.
BY_ENGINE = {TO_UPLINK: WITH_CONDITIONS, BRIDGE: "link engine"}


def direction(leg: str, start: str, end: str) -> Direction:
    """Return `sending` (sender to wire), `receiving` (wire to sender) or `remote` (all else).

    `leg` is that of the segment: `request`, `reply` or `turn`.
    """
    if leg != "turn" and _is_near(start) and _is_near(end):
        return "sending" if leg == "request" else "receiving"
    return "remote"


def layer(leg: str, start: str, end: str, own_stack: Collection[str] = ()) -> str:
    """Return the layer between two points; the layers of a longer segment are joined by ` + `.

    `own_stack` names the sides, `sender` or `responder`, whose node is in its host's own stack.
    """
    if leg == "turn":
        before = _out(start, own_stack) if start.startswith("sender.") else []
        after = _in(end, own_stack) if end.startswith("sender.") else []
        return _joined([*before, RESPONDER, *after])
    if start.startswith(HOP) or end.startswith(HOP):
        return _joined(_by_routers(start, end, own_stack))
    if start != "wire" and end != "wire" and _side(start) != _side(end):
        return _joined([*_out(start, own_stack), *_in(end, own_stack)])
    outward = start if start != "wire" else end
    if (leg == "request") == (_side(outward) == "sender"):
        return _joined(_out(start, own_stack, end))
    return _joined(_in(end, own_stack, start))


def carried(name: str, *, by_link: bool, one_host: bool) -> str:
    """Return a layer's name, adapted to an engine in place of bridges and to nodes on one host."""
    parts = name.split(" + ")
    if one_host:
        whole = WITH_CONDITIONS if by_link else BRIDGE
        parts = [whole if part in (TO_UPLINK, WIRE, BRIDGE) else part for part in parts]
    return _joined([BY_ENGINE.get(part, part) if by_link else part for part in parts])


def _by_routers(start: str, end: str, own_stack: Collection[str]) -> list[str]:
    """Return the layers from a node or router to the next: its cable, the link, the next cable.

    If routers between the two did not see the packet, they are included.
    """
    if _side(start) == _side(end):
        return [ROUTER]
    out = [] if start.startswith(HOP) else _out(start, own_stack, f"{_side(start)}.vif")
    into = [] if end.startswith(HOP) else _in(end, own_stack, f"{_side(end)}.vif")
    return [*out, *([BRIDGE] if _neighbours(start, end) else [BRIDGE, ROUTER]), *into]


def _neighbours(start: str, end: str) -> bool:
    """Return True if one link joins the nodes or routers of these two points."""
    near, far = sorted((start, end), key=_number)
    if near.startswith("sender"):
        return far == f"{HOP}1.near"
    if far.startswith("responder"):
        return near.endswith(".far")
    return near.endswith(".far") and far.endswith(".near") and _number(far) == _number(near) + 1


def _number(point: str) -> float:
    """Return the position of a point's node or router on the way, counted from the sender."""
    known = {"sender": 0.0, "responder": math.inf}
    side = _side(point)
    return known[side] if side in known else float(side.removeprefix(HOP))


def _out(start: str, own_stack: Collection[str], end: str = "wire") -> list[str]:
    return _between(_OUT[_stack(start, end, own_stack)], start, end)


def _in(end: str, own_stack: Collection[str], start: str = "wire") -> list[str]:
    return _between(_IN[_stack(end, start, own_stack)], start, end)


def _between(way: tuple[str, ...], start: str, end: str) -> list[str]:
    if start == end:
        return []
    points = way[::2]
    first, last = _bare(start), _bare(end)
    if first in points and last in points and points.index(first) < points.index(last):
        return list(way[1::2][points.index(first) : points.index(last)])
    return [f"{start} to {end}"]


def _joined(names: list[str]) -> str:
    return " + ".join(dict.fromkeys(names))


def _stack(point: str, other: str, own_stack: Collection[str]) -> str:
    """Return the key into `_OUT` and `_IN` for a node; `point` is on its side, `other` anywhere."""
    if "dom0" in (_bare(point), _bare(other)):
        return "domain"
    return "own" if _side(point) in own_stack else "virtual"


def _is_near(point: str) -> bool:
    return _side(point) in ("sender", "wire")


def _side(point: str) -> str:
    return point.partition(".")[0]


def _bare(point: str) -> str:
    return point.rpartition(".")[2]
