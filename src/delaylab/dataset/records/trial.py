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
from delaylab.dataset.records.doubts import Doubt
from delaylab.dataset.records.links import EngineReport
from delaylab.dataset.records.rates import Flow, HeldRate, Search
from delaylab.spec.link_conditions import NOTHING, check_configured

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


class Load(Record):
    """Competing work: what was configured and what it achieved.

    `flows` are set for loads of frames. `rate` is set if the rate of frames was found by search,
    and says how.
    """

    load: Text
    on: Text
    to: Text | None = None
    configured: object = Field(None, alias="asked")
    achieved: dict[Text, Number] = {}
    flows: Listed[Flow] = []
    rate: HeldRate | None = None


class Tap(Record):
    """Packets captured and dropped at one point, and the method of capture.

    `unparsed` counts packets that are damaged or fragments, `repeated` those that were seen twice.
    `by` is `tcx` for programs at the interface's traffic control hooks, `ring` for a packet
    socket's ring. Records without it come from versions that captured by rings only.
    """

    point: Text
    packets: Count
    dropped: Count
    unparsed: Count = 0
    repeated: Count = 0
    by: Literal["tcx", "ring"] = "ring"


class ClockReading(Record):
    """Reading of two clocks at one moment: the reference, the other, the reference again; in ns."""

    clock: Text
    reference: Text
    before_ns: Nanoseconds
    other_ns: Nanoseconds
    after_ns: Nanoseconds


class PointPath(Record):
    """Recorded points of each leg, in the order in which a packet passes them."""

    request: Points = []
    reply: Points = []

    @model_validator(mode="after")
    def _each_once(self) -> PointPath:
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


class Measurement(Record):
    """Measurement of a trial, apart from its tables.

    `path` has the recorded points of each leg, `absent` the reason for each point that is missing.
    `clock` is the sender's. `responder_icmp` are differences of the kernel's ICMP counters.
    """

    sender: Endpoint | None = None
    responder: Endpoint | None = None
    protocol: Text | None = None
    size_bytes: Count | None = None
    interval_ns: Count | None = None
    rate_search: Search | None = None
    path: PointPath = PointPath()
    absent: Annotated[dict[Text, Text], Field(max_length=MOST_POINTS)] = {}
    clock: Text | None = None
    warnings: Listed[Doubt] = []
    loads: Listed[Load] = []
    taps: Listed[Tap] = []
    responder_icmp: dict[Text, Nanoseconds] = {}
    clock_readings: Listed[ClockReading] = []
    hops: Listed[Hop] = []
    links: Listed[EngineReport] = []


class TrialHead(Record):
    """The place of a trial in its study, and its outcome. Times are ISO 8601."""

    id: TrialId
    index: Count
    factors: dict[Word, Text]
    repeat: Count
    status: Literal["ok", "failed", "skipped"]
    reason: Text | None = None
    started: Text | None = None
    ended: Text | None = None


class TrialRecord(Measurement, TrialHead):
    """Record in `trial.json`: one lab, one load, one probe run."""


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
            for conditions in (direction.configured, direction.configured_first or NOTHING):
                try:
                    check_configured(conditions)
                except ValueError as error:
                    raise ValueError(f"link {direction.link}, asked: {error}") from None
