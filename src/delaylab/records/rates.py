"""How a rate was found, as a trial's record keeps it: where doing and meaning meet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from delaylab.records.base import LARGEST, Chance, Count, Nanoseconds, Number, Record, Text

Interval = Annotated[int, Field(gt=0, le=LARGEST)]
Rate = Annotated[float, Field(ge=0, le=1e15)]
Bound = Literal["loss", "backlog", "generator"]


class Try(Record):
    """One burst: how it was meant, and what came of it (times in ns, `took` to the last reply)."""

    interval_ns: Interval
    packets: Count
    lost: Count
    sent_in_ns: Nanoseconds
    took_ns: Nanoseconds
    held: bool


class Search(Record):
    """The shortest interval between packets that was held, and how it was found."""

    asked_interval_ns: Interval
    interval_ns: Interval
    tries: tuple[Try, ...]


class Flow(Record):
    """Frames of one flow, named by the link that they arrive by. Others' packets are not in it."""

    link: Text
    sent: Count
    received: Count


class Burst(Record):
    """Frames one way at a rate: what was asked (None: as fast as can be), and what came of it.

    `seconds`: how long the generator was at work.
    Of the flows that count, `lost` is the share that did not arrive, and `behind_s` for how long
    frames went on to arrive once the last was sent, at the rate sent, beyond what links were asked
    to delay them (0 in records from before it was looked at). `paced`: the generator kept the rate;
    `held`: it did, no more than tolerated was lost, and arrival kept up with sending.
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
        """Frames of all flows that left the generator."""
        return sum(flow.sent for flow in self.flows)

    @property
    def received(self) -> int:
        """Frames of all flows that arrived."""
        return sum(flow.received for flow in self.flows)

    @property
    def arrived_per_s(self) -> float:
        """The rate at which frames arrived, also those that queues held until nothing was sent."""
        return self.sent_per_s * (1 - self.lost) * self.seconds / (self.seconds + self.behind_s)


class HeldRate(Record):
    """The highest rate of frames that was held, and how it was found.

    `bound` is what a higher rate failed by. `judged` are the flows that count: not those over
    links that were asked to lose frames or to keep to a rate.
    """

    frames_per_s: Rate
    tolerance: Chance
    bound: Bound
    judged: tuple[Text, ...]
    tries: tuple[Burst, ...]
