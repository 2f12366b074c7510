"""Layers of the machine to which segments belong, and the segments' directions."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

from delaylab.api.points import (
    BRIDGE,
    BRIDGE_AND_UPLINK,
    FAR,
    IN,
    NEAR,
    OUT,
    RESPONDER,
    SENDER,
    TUNNEL,
    UNDERLAY,
    WIRE,
    Stack,
    bare,
    layers_between,
    role,
    router_number,
    router_side,
)

INTERFACE = {NEAR: "vif", FAR: "vif"}
"""The interfaces of routers, which have the place of a node's."""

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

    near, far, sides = role(start), role(end), (router_side(start), router_side(end))
    if leg == "turn":
        before = out(start) if near == SENDER else []
        after = into(WIRE, end) if far == SENDER else []
        parts = [*before, RESPONDER, *after]
    elif near != far and bare(start) == bare(end) == TUNNEL:
        parts = [UNDERLAY]
    elif near == far and sides[0] != sides[1]:
        parts = [*into(start, "vif"), ROUTER, *out("vif", end)]
    elif near == far or (WIRE in (near, far) and sides == (None, None)):
        # On one side of a node; a wire without a number is the responder's.
        outward = SENDER in (near, far) or sides[0] == FAR
        parts = out(start, end) if (leg == "request") == outward else into(start, end)
    else:
        # From one node to another, with the routers between the two that did not see the packet.
        unseen = [] if sides == (None, None) or _neighbours(start, end) else [ROUTER]
        before = [WIRE] if bare(start) == TUNNEL else out(start)
        after = [WIRE] if bare(end) == TUNNEL else into(WIRE, end)
        parts = [*before, *unseen, *after]
    return _joined(parts)


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
        return router_side(far) == NEAR and _place(far) == 1
    if router_side(near) != FAR:
        return False
    return role(far) in (RESPONDER, WIRE) or (
        router_side(far) == NEAR and _place(far) == _place(near) + 1
    )


def _place(point: str) -> float:
    """Return the position of a point's node or router on the way, counted from the sender."""
    number = router_number(role(point))
    if number is not None:
        return float(number)
    return 0.0 if role(point) == SENDER else math.inf


def _between(way: tuple[str, ...], start: str, end: str) -> list[str]:
    found = layers_between(way, *(INTERFACE.get(bare(each), bare(each)) for each in (start, end)))
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
