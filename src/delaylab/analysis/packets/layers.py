"""Layers of the machine to which segments belong, and the segments' directions."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

from delaylab.points import (
    BRIDGE,
    BRIDGE_AND_UPLINK,
    HOP,
    IN,
    OUT,
    RESPONDER,
    SENDER,
    WIRE,
    Stack,
    bare,
    layers_between,
    role,
    router_number,
)

Direction = Literal["sending", "receiving", "remote"]

SLIP = "send slip"
OUTSIDE = "outside"
"""The layer of a turn whose host is outside of the lab: everything beyond the sender's side."""
ROUTER = "router"

WITH_CONDITIONS = "link with conditions"
# An engine applies conditions to what the nodes of its own host send. It only passes on what comes
# from other hosts.
BY_ENGINE = {BRIDGE_AND_UPLINK: WITH_CONDITIONS, BRIDGE: "link engine"}


def direction(leg: str, start: str, end: str) -> Direction:
    """Return `sending` (sender to wire), `receiving` (wire to sender) or `remote` (all else).

    `leg` is that of the segment: `request`, `reply` or `turn`.
    """
    if leg != "turn" and _is_near(start) and _is_near(end):
        return "sending" if leg == "request" else "receiving"
    return "remote"


def layer(leg: str, start: str, end: str, in_host_stack: Collection[str] = ()) -> str:
    """Return the layer between two points; the layers of a longer segment are joined by ` + `.

    `in_host_stack` names the sides, `sender` or `responder`, whose node is in its host's own stack.
    """

    def out(start: str, end: str = WIRE) -> list[str]:
        return _between(OUT[_stack(start, end, in_host_stack)], start, end)

    def into(start: str, end: str) -> list[str]:
        return _between(IN[_stack(end, start, in_host_stack)], start, end)

    near, far = role(start), role(end)
    if leg == "turn":
        before = out(start) if near == SENDER else []
        after = into(WIRE, end) if far == SENDER else []
        return _joined([*before, RESPONDER, *after])
    if near == far and router_number(near) is not None:
        return ROUTER
    if router_number(near) is not None or router_number(far) is not None:
        # From a node or router to the next: its cable, the link, the next cable. Routers between
        # the two that did not see the packet are included.
        leaving = [] if router_number(near) is not None else out(start, f"{near}.vif")
        arriving = [] if router_number(far) is not None else into(f"{far}.vif", end)
        link = [BRIDGE] if _neighbours(start, end) else [BRIDGE, ROUTER]
        return _joined([*leaving, *link, *arriving])
    if WIRE not in (near, far) and near != far:
        return _joined([*out(start), *into(WIRE, end)])
    outward = near if near != WIRE else far
    if (leg == "request") == (outward == SENDER):
        return _joined(out(start, end))
    return _joined(into(start, end))


def carried(name: str, *, by_link: bool, one_host: bool) -> str:
    """Return a layer's name, adapted to an engine in place of bridges and to nodes on one host."""
    parts = name.split(" + ")
    if one_host:
        whole = WITH_CONDITIONS if by_link else BRIDGE
        parts = [whole if part in (BRIDGE_AND_UPLINK, WIRE, BRIDGE) else part for part in parts]
    return _joined([BY_ENGINE.get(part, part) if by_link else part for part in parts])


def _neighbours(start: str, end: str) -> bool:
    """Return True if one link joins the nodes or routers of these two points."""
    near, far = sorted((start, end), key=_place)
    if role(near) == SENDER:
        return far == f"{HOP}1.near"
    if role(far) == RESPONDER:
        return bare(near) == "far"
    return bare(near) == "far" and bare(far) == "near" and _place(far) == _place(near) + 1


def _place(point: str) -> float:
    """Return the position of a point's node or router on the way, counted from the sender."""
    number = router_number(role(point))
    if number is not None:
        return float(number)
    return 0.0 if role(point) == SENDER else math.inf


def _between(way: tuple[str, ...], start: str, end: str) -> list[str]:
    found = layers_between(way, bare(start), bare(end))
    return [f"{start} to {end}"] if found is None else found


def _joined(names: list[str]) -> str:
    return " + ".join(dict.fromkeys(names))


def _stack(point: str, other: str, in_host_stack: Collection[str]) -> Stack:
    """Return the stack of the node of `point`; `other` is the other end of a segment."""
    if "dom0" in (bare(point), bare(other)):
        return Stack.DOMAIN
    return Stack.HOST if role(point) in in_host_stack else Stack.VIRTUAL


def _is_near(point: str) -> bool:
    return role(point) in (SENDER, WIRE)
