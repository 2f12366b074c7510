"""Ways of a trial's packets: the points that recorded them, and the links between these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from delaylab.api.points import LEGS, RESPONDER, SENDER, WIRE, role
from delaylab.api.records import Listed, Point, Points, Record, Text

MOST_WAYS = 1000
"""Largest number of ways in one trial."""
Leg = Literal["request", "reply"]


class Hop(Record):
    """A link on the way from node `start` to node `end`, and the points before and after it."""

    link: Text = Field(description="The name of the link.")
    start: Text = Field(description="The node that the packet comes from.")
    end: Text = Field(description="The node that the packet goes to.")
    near: Point = Field("sender.vif", description="The point before the link.")
    far: Point = Field("responder.vif", description="The point after the link.")


class Way(Record):
    """The way of a packet: its recorded points on each leg in their order, and the links it takes.

    Replies may come back by other links than requests take. Where both have several ways, each pair
    that a packet can go is a way of its own.
    """

    request: Points = Field(
        [],
        description="The points that a request passes. A router's are named by location: "
        "`ROUTER@LINK`, and `ROUTER@LINK.uplink` and `ROUTER@LINK.wire` where the link crosses "
        "hosts, and `ROUTER@LINK.tunnel` where it crosses machines. In records of earlier "
        "versions they are `hop1.near`, `hop1.far` and so on.",
    )
    reply: Points = Field([], description="The points that a reply passes.")
    hops: Listed[Hop] = Field(
        [], description="The links that a request takes; empty if they are not known."
    )
    back: Listed[Hop] | None = Field(
        None,
        description="The links that a reply takes; null if they are those of `hops`, empty if they "
        "are not known.",
    )

    @model_validator(mode="after")
    def _each_once(self) -> Way:
        for leg in (self.request, self.reply):
            twice = next((point for point in leg if leg.count(point) > 1), None)
            if twice is not None:
                raise ValueError(f"the way passes {twice} twice")
        return self

    def points(self, leg: str) -> list[Point]:
        """Return the points of a leg, in the order of passing."""
        return self.request if leg == "request" else self.reply

    def from_sender(self, leg: str) -> list[Hop]:
        """Return the links that a leg takes, each as a request would take it, the sender's first.

        `leg` is `request` or `reply`. The list is empty if the links are not known.
        """
        return self.hops if leg == "request" or self.back is None else _turned(self.back)

    def taken(self, leg: str) -> list[Hop]:
        """Return the links that a leg takes, in the order of passing."""
        return self.hops if leg == "request" else _turned(self.from_sender(leg))

    @property
    def name(self) -> str:
        """Return the links of the request, and of the reply if they are others; "" if not known."""
        there, back = (" → ".join(hop.link for hop in self.taken(leg)) for leg in LEGS)
        return there if self.back is None else f"{there}, back {back or 'unknown'}"


def of_earlier(record: Mapping[str, object]) -> Mapping[str, object]:
    """Return a trial's values with their ways; earlier versions recorded one, `path` and `hops`.

    They did not know the links of a reply that passed none of the request's routers.
    """
    if "ways" in record or "path" not in record:
        return record
    path, hops = record["path"], record.get("hops", [])
    if not isinstance(path, Mapping):
        return {**record, "ways": [path]}
    if not path.get("request") and not path.get("reply"):
        return record
    other_way = _over_routers(path.get("request")) and not _over_routers(path.get("reply"))
    return {**record, "ways": [{**path, "hops": hops, "back": [] if other_way else None}]}


def _over_routers(points: object) -> bool:
    ends = (SENDER, RESPONDER, WIRE)
    return isinstance(points, list) and any(role(str(point)) not in ends for point in points)


def _turned(hops: list[Hop]) -> list[Hop]:
    """Return links as a packet takes them that goes the other way."""
    return [
        Hop(link=hop.link, start=hop.end, end=hop.start, near=hop.far, far=hop.near)
        for hop in reversed(hops)
    ]
