"""Which layer of the machine a segment belongs to, and in which direction."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

Direction = Literal["sending", "receiving", "remote"]

SLIP = "send slip"

# The layer between two neighbouring points of one side. A packet passes them one way on the
# request and the other way on the reply.
_LAYERS: dict[tuple[str, str], str] = {
    ("app", "qdisc"): "user space to kernel",
    ("app", "stack"): "user space to kernel",
    ("qdisc", "stack"): "queue",
    ("qdisc", "uplink"): "uplink queue",
    ("stack", "vif"): "virtual interface",
    ("uplink", "stack"): "driver",
    ("vif", "uplink"): "bridge and uplink queue",
    ("uplink", "wire"): "wire",
    ("stack", "wire"): "wire",
}
# On the way in there is no queue to wait in: a received packet is handed up at once.
_INWARD: dict[tuple[str, str], str] = {
    ("stack", "app"): "kernel to user space",
    ("uplink", "vif"): "bridge",
}
# Where the packet passes the points of a side when it leaves; in the host's own stack the tap
# of the uplink sees it before the driver's stamp.
_OUTWARD_VIRTUAL = ["app", "qdisc", "stack", "vif", "uplink", "wire"]
_OUTWARD_NATIVE = ["app", "qdisc", "uplink", "stack", "wire"]


def direction(leg: str, start: str, end: str) -> Direction:
    """Return `sending` (sender to wire), `receiving` (wire to sender) or `remote`.

    `leg` is that of the segment: `request`, `reply` or `turn`.
    """
    if leg != "turn" and _is_near(start) and _is_near(end):
        return "sending" if leg == "request" else "receiving"
    return "remote"


def layer(leg: str, start: str, end: str) -> str:
    """Return the layer between two points of one leg; a longer way joins its layers by ` + `."""
    if leg == "turn":
        return "responder"
    if _side(start) != _side(end) and "wire" not in (start, end):
        return "wire"
    outward = (leg == "request") == (_side(start) == "sender" or _side(end) == "sender")
    first, last = _bare(start), _bare(end)
    names = [_between(a, b, outward) for a, b in pairwise(_way(first, last, outward))]
    return " + ".join(dict.fromkeys(names))


def _between(start: str, end: str, outward: bool) -> str:
    if not outward and (start, end) in _INWARD:
        return _INWARD[start, end]
    return _LAYERS.get((start, end)) or _LAYERS.get((end, start)) or f"{start} to {end}"


def _way(start: str, end: str, outward: bool) -> list[str]:
    """Return the points from start to end: themselves, or all on the way if they are no pair."""
    if (start, end) in _LAYERS or (end, start) in _LAYERS:
        return [start, end]
    for order in (_OUTWARD_VIRTUAL, _OUTWARD_NATIVE):
        points = order if outward else [point for point in reversed(order) if point != "qdisc"]
        if start in points and end in points and points.index(start) < points.index(end):
            return points[points.index(start) : points.index(end) + 1]
    return [start, end]


def _is_near(point: str) -> bool:
    return _side(point) in ("sender", "wire")


def _side(point: str) -> str:
    return point.partition(".")[0]


def _bare(point: str) -> str:
    return point.rpartition(".")[2]
