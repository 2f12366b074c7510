"""`trial.json`: one lab, one load, one probe run."""

from __future__ import annotations

from typing import Literal

from delaylab.records.base import Record
from delaylab.records.links import Engine
from delaylab.records.rates import Flow, HeldRate, Search


class Endpoint(Record):
    """The node at one end of the probe, its host and its technology."""

    node: str
    host: str
    kind: str


class TrialWarning(Record):
    """A doubt about the data, and what to do about it."""

    kind: str
    message: str
    remedy: str


class Load(Record):
    """Competing work: what was asked and what it achieved, of frames also by flow.

    `rate` is how the rate of frames was found, if it was by search.
    """

    load: str
    on: str
    to: str | None = None
    asked: object = None
    achieved: dict[str, float] = {}
    flows: list[Flow] = []
    rate: HeldRate | None = None


class Tap(Record):
    """What a capture point saw and what it had to drop, and what captured: programs at the
    interface's hooks, or a packet ring (as all did before there were two)."""

    point: str
    packets: int
    dropped: int
    by: Literal["tcx", "ring"] = "ring"


class ClockReading(Record):
    """Two clocks read at one moment: the reference, the other one, the reference again; in ns."""

    clock: str
    reference: str
    before_ns: int
    other_ns: int
    after_ns: int


class Way(Record):
    """The recorded points of each leg, in the order in which a packet passes them."""

    request: list[str] = []
    reply: list[str] = []


class Hop(Record):
    """A link on the way from node `start` to node `end`, and the points before and behind it."""

    link: str
    start: str
    end: str
    near: str = "sender.vif"
    far: str = "responder.vif"


class TrialRecord(Record):
    """`trial.json`: one lab, one load, one probe run."""

    id: str
    index: int
    factors: dict[str, str]
    repeat: int
    status: Literal["ok", "failed", "skipped"]
    reason: str | None = None
    started: str | None = None
    ended: str | None = None
    sender: Endpoint | None = None
    responder: Endpoint | None = None
    protocol: str | None = None
    size_bytes: int | None = None
    interval_ns: int | None = None
    rate_search: Search | None = None
    path: Way = Way()
    absent: dict[str, str] = {}
    clock: str | None = None
    warnings: list[TrialWarning] = []
    loads: list[Load] = []
    taps: list[Tap] = []
    responder_icmp: dict[str, int] = {}
    clock_readings: list[ClockReading] = []
    link: str | None = None
    hops: list[Hop] = []
    links: list[Engine] = []

    @property
    def crossed(self) -> list[Hop]:
        """The links on a request's way. Before there were routers a trial had one, `link`."""
        if self.hops or not (self.link and self.sender and self.responder):
            return self.hops
        return [Hop(link=self.link, start=self.sender.node, end=self.responder.node)]
