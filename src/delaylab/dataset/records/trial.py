"""Record in `trial.json`: one lab, one load, one probe run."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import Field, model_validator

from delaylab.dataset.records.base import (
    MOST_LISTED,
    MOST_POINTS,
    Count,
    Nanoseconds,
    Number,
    Point,
    Record,
    Text,
    TrialId,
    Word,
)
from delaylab.dataset.records.conditions import check_asked
from delaylab.dataset.records.links import Engine
from delaylab.dataset.records.rates import Flow, HeldRate, Search

Item = TypeVar("Item")
Listed = Annotated[list[Item], Field(max_length=MOST_LISTED)]
Points = Annotated[list[Point], Field(max_length=MOST_POINTS)]
START = "sender.app"
"""Point at which a request begins and a reply ends."""


class Endpoint(Record):
    """Node at one end of the probe, its host and its kind."""

    node: Word
    host: Word
    kind: Word


class TrialWarning(Record):
    """Doubt about the data, with a remedy."""

    kind: Text
    message: Text
    remedy: Text


class Load(Record):
    """Competing work: what was configured and what it achieved.

    `flows` are set for loads of frames. `rate` is set if the rate of frames was found by search,
    and says how.
    """

    load: Text
    on: Text
    to: Text | None = None
    asked: object = None
    achieved: dict[Text, Number] = {}
    flows: Listed[Flow] = []
    rate: HeldRate | None = None


class Tap(Record):
    """Packets captured and dropped at one point, and the method of capture.

    `by` is `tcx` for programs at the interface's traffic control hooks, `ring` for a packet
    socket's ring. Records without it come from versions that captured by rings only.
    """

    point: Text
    packets: Count
    dropped: Count
    by: Literal["tcx", "ring"] = "ring"


class ClockReading(Record):
    """Reading of two clocks at one moment: the reference, the other, the reference again; in ns."""

    clock: Text
    reference: Text
    before_ns: Nanoseconds
    other_ns: Nanoseconds
    after_ns: Nanoseconds


class Way(Record):
    """Recorded points of each leg, in the order in which a packet passes them."""

    request: Points = []
    reply: Points = []

    @model_validator(mode="after")
    def _each_once(self) -> Way:
        for leg in (self.request, self.reply):
            twice = next((point for point in leg if leg.count(point) > 1), None)
            if twice is not None:
                raise ValueError(f"the way passes {twice} twice")
        return self


class Hop(Record):
    """Link on the way from node `start` to node `end`, and the points before and behind it."""

    link: Text
    start: Text
    end: Text
    near: Point = "sender.vif"
    far: Point = "responder.vif"


class TrialRecord(Record):
    """Record in `trial.json`: one lab, one load, one probe run."""

    id: TrialId
    index: Count
    factors: dict[Word, Text]
    repeat: Count
    status: Literal["ok", "failed", "skipped"]
    reason: Text | None = None
    started: Text | None = None
    ended: Text | None = None
    sender: Endpoint | None = None
    responder: Endpoint | None = None
    protocol: Text | None = None
    size_bytes: Count | None = None
    interval_ns: Count | None = None
    rate_search: Search | None = None
    path: Way = Way()
    absent: Annotated[dict[Text, Text], Field(max_length=MOST_POINTS)] = {}
    clock: Text | None = None
    warnings: Listed[TrialWarning] = []
    loads: Listed[Load] = []
    taps: Listed[Tap] = []
    responder_icmp: dict[Text, Nanoseconds] = {}
    clock_readings: Listed[ClockReading] = []
    link: Text | None = None
    hops: Listed[Hop] = []
    links: Listed[Engine] = []

    @property
    def crossed(self) -> list[Hop]:
        """Return the links on a request's way, in order; old records name only one, `link`."""
        if self.hops or not (self.link and self.sender and self.responder):
            return self.hops
        return [Hop(link=self.link, start=self.sender.node, end=self.responder.node)]


def check_trial(trial: TrialRecord) -> None:
    """Raise ValueError if the parts of a trial's record contradict each other."""
    if trial.status == "ok" and not (trial.sender and trial.responder and trial.path.request):
        raise ValueError("a trial that is ok has a sender, a responder and a path")
    request, reply = trial.path.request, trial.path.reply
    if (request or reply) and request[:1] != [START]:
        raise ValueError(f"path: a request begins at {START}")
    if reply and reply[-1] != START:
        raise ValueError(f"path: a reply ends at {START}")
    for engine in trial.links:
        for direction in engine.directions:
            for asked in (direction.asked, direction.asked_first or {}):
                try:
                    check_asked(asked)
                except ValueError as error:
                    raise ValueError(f"link {direction.link}, asked: {error}") from None
