"""Records of searches for the highest rate: of the probe's packets, and of frames."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from delaylab.dataset.records.base import LARGEST, Chance, Count, Nanoseconds, Number, Record, Text

Interval = Annotated[int, Field(gt=0, le=LARGEST)]
Rate = Annotated[float, Field(ge=0, le=1e15)]
Bound = Literal["loss", "backlog", "generator"]


class Try(Record):
    """Burst of probe packets at one interval, and its result.

    Times are in ns from the burst's start: `sent_in_ns` to the last packet sent, `took_ns` to the
    last reply received.
    """

    interval_ns: Interval
    packets: Count
    lost: Count
    sent_in_ns: Nanoseconds
    took_ns: Nanoseconds
    held: bool


class Search(Record):
    """Search for the shortest interval between probe packets that the lab holds.

    `interval_ns` is the shortest interval held; where none was held, it is the one that would have
    been tried next.
    """

    asked_interval_ns: Interval
    interval_ns: Interval
    tries: tuple[Try, ...]


class Flow(Record):
    """Frames of one flow, named by the link by which they arrive; other packets do not count."""

    link: Text
    sent: Count
    received: Count


class Burst(Record):
    """Burst of frames, one way, at the rate asked (None: as fast as possible), and its result.

    `seconds` is how long the generator was at work. Of the judged flows, `lost` is the share of
    frames that did not arrive. `behind_s` is for how long frames went on to arrive after the last
    was sent, at the rate sent, beyond the delay configured for links; it is 0 in records that
    predate it. `paced` is true if the generator kept the rate. `held` is true if, in addition, no
    more than the tolerated share was lost and arrival kept up with sending.
    """

    asked_per_s: Rate | None
    seconds: Rate
    sent_per_s: Rate
    lost: Number
    behind_s: Number = 0.0
    paced: bool
    held: bool
    flows: tuple[Flow, ...]

    @property
    def sent(self) -> int:
        """Return the number of frames of all flows that left the generator."""
        return sum(flow.sent for flow in self.flows)

    @property
    def received(self) -> int:
        """Return the number of frames of all flows that arrived."""
        return sum(flow.received for flow in self.flows)

    @property
    def arrived_per_s(self) -> float:
        """Return the frames/s at which frames arrived, late ones that queues held included."""
        return self.sent_per_s * (1 - self.lost) * self.seconds / (self.seconds + self.behind_s)


class HeldRate(Record):
    """Search for the highest rate of frames that is held, one way.

    `bound` is the reason why a higher rate was not held. `judged` names the flows that count: those
    over links that are configured to lose frames or to limit the rate are left out if there are
    others.
    """

    frames_per_s: Rate
    tolerance: Chance
    bound: Bound
    judged: tuple[Text, ...]
    tries: tuple[Burst, ...]
