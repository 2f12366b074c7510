"""Records of searches for the highest rate: of the probe's packets, and of frames."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from delaylab.api.records import LARGEST, Chance, Count, Nanoseconds, Number, Record, Text

Interval = Annotated[int, Field(gt=0, le=LARGEST)]
Rate = Annotated[float, Field(ge=0, le=1e15)]
Bound = Literal["loss", "backlog", "generator"]


class Try(Record):
    """A burst of probe packets at one interval, and its result.

    Times are in ns from the burst's start: `sent_in_ns` to the last packet sent, `took_ns` to the
    last reply received.
    """

    interval_ns: Interval = Field(description="The interval between packets that was tried.")
    packets: Count = Field(description="The number of packets sent.")
    lost: Count = Field(description="The number of packets without a reply.")
    sent_in_ns: Nanoseconds = Field(
        description="The time from the start of the burst until its last packet was sent."
    )
    took_ns: Nanoseconds = Field(
        description="The time from the start of the burst until its last reply was received."
    )
    held: bool = Field(description="True if the lab held this interval.")


class Search(Record):
    """A search for the shortest interval between probe packets that the lab holds.

    `interval_ns` is the shortest interval held; where none was held, it is the one that would have
    been tried next.
    """

    asked_interval_ns: Interval = Field(description="The interval that the study configures.")
    interval_ns: Interval = Field(description="The interval that was used under load.")
    tries: tuple[Try, ...] = Field(description="The bursts of the search, in their order.")


class Flow(Record):
    """Frames of one flow, named by the link by which they arrive; other packets do not count."""

    link: Text = Field(description="The link by which the frames arrive.")
    sent: Count = Field(description="The number of frames sent.")
    received: Count = Field(
        description="The number of frames that arrived at the receiver's port, counted by a BPF "
        "program. Where the receiver may load none: all packets that arrived by the link, but a "
        "probe's."
    )
    reordered: Count | None = Field(
        None,
        description="Of these, the number that came after a later frame of the flow (RFC 4737), "
        "counted by a BPF program; null where the receiver may load none.",
    )
    received_per_s: Rate | None = Field(
        None,
        description="The rate at which packets arrived by the link while frames were sent, from "
        "when all flows had some arrival until sending ended, by the receiver's counters; those "
        "of a probe count, too. Null for a burst of a search.",
    )


class Burst(Record):
    """A burst of frames, one way, at a configured rate (null: as fast as possible), and its result.

    `seconds` is how long the generator was at work. Of the judged flows, `lost` is the share of
    frames that did not arrive, or arrived out of order: both count as lost.
    `behind_s` is for how long frames went on to arrive after the last was sent, at the rate sent,
    beyond their delay at rest; it is 0 in records that predate it. `paced` is true if the generator
    kept the rate. `held` is true if, in addition, no more than the tolerated share was lost and
    arrival kept up with sending.
    """

    asked_per_s: Rate | None = Field(
        description="The rate of frames that was tried; null means as fast as possible."
    )
    seconds: Rate = Field(description="The time for which the generator sent.")
    sent_per_s: Rate = Field(description="The rate at which frames were sent.")
    lost: Number = Field(
        description="The share of frames that did not arrive in order, of the judged flows.",
        json_schema_extra={"unit": "0 to 1"},
    )
    behind_s: Number = Field(
        0.0,
        description="The time for which frames went on to arrive after the last one was sent, "
        "beyond the delay configured for links or, if that is longer, the delay found at rest less "
        "10 ms; of the flow that was furthest behind.",
    )
    paced: bool = Field(description="True if the generator kept the rate.")
    held: bool = Field(
        description="True if the generator kept the rate, no more than the tolerated share was "
        "lost, and arrival kept up with sending."
    )
    flows: tuple[Flow, ...] = Field(description="The frames sent and received, by flow.")

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
        """Return the rate of arrival in frames/s, with late frames that queues held."""
        return self.sent_per_s * (1 - self.lost) * self.seconds / (self.seconds + self.behind_s)


class HeldRate(Record):
    """A search for the highest rate of frames that is held, one way.

    `bound` is the reason why a higher rate was not held. `judged` names the flows that count: those
    over links that are configured to lose frames or to limit the rate are left out if there are
    others.
    """

    frames_per_s: Rate = Field(description="The highest rate of frames that was held.")
    tolerance: Chance = Field(
        description="The share of lost frames up to which a rate counts as held.",
        json_schema_extra={"unit": "0 to 1"},
    )
    bound: Bound = Field(
        description="The reason why no higher rate was held: frames were lost, arrived too late, "
        "or the generator could not send faster."
    )
    at_rest_s: Number = Field(
        0.0,
        description="The shortest one-way delay of single frames at rest, of the slowest flow; 0 "
        "in records that predate it, and where sender and receiver have two clocks.",
    )
    judged: tuple[Text, ...] = Field(
        description="The flows that count, named by the link by which they arrive."
    )
    tries: tuple[Burst, ...] = Field(description="The bursts of the search, in their order.")
