"""Bursts of frames: what was sent, what arrived, and how long after the last was sent."""

from __future__ import annotations

import select
from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.api.agents import Discarded
from delaylab.api.names import node_agent
from delaylab.api.running import LiveLab
from delaylab_study.loads.generator import Generator, GeneratorResult
from delaylab_study.loads.streams import Arrived, ArrivingFlow, Sink, streams
from delaylab_study.study_file.loads import FramesLoad

WARMING_PER_S, WARMING_S = 1000, 0.2
"""Rate in frames/s and length in seconds of a first burst."""
SINGLES, SINGLE_S = 10, 0.5
"""The number of single frames of each flow that show the delay at rest, and the longest time in
seconds for which each is awaited."""
HELD_UP_S = 0.01
"""The part in seconds of the delay found at rest that is not subtracted, since a single frame may
wait so long for a busy CPU. The 20 ms allowed after a burst (`BEHIND_S`) already cover it."""


@dataclass(frozen=True, kw_only=True)
class SentBurst:
    """A burst: what was sent, and the sink's counts before, in it, at its end, and after.

    `ordered` are the frames that reached the sink's port, by link, None if they were not counted.
    `clocked` is True if one clock tells the times of the generator and of the sink.
    """

    sent: GeneratorResult
    before: Arrived
    during: Arrived
    ended: Arrived
    after: Arrived
    ordered: dict[str, Discarded] | None
    clocked: bool

    @property
    def lag_s(self) -> float:
        """Return how long after the end the sink was read, 0 if two clocks tell."""
        late_ns = self.ended.time_ns - self.sent.ended_ns
        return max(0.0, late_ns / 1e9) if self.clocked else 0.0


def behind_s(
    flows: Sequence[ArrivingFlow], per_s: float, done: SentBurst, at_rest_s: float
) -> float:
    """Return the seconds for which frames still arrived after sending ended.

    The flow furthest behind counts, at the rate `per_s` of each flow, less the delay configured for
    its links, or less `at_rest_s` beyond `HELD_UP_S` if that is longer.
    """
    per_s = max(per_s, 1e-9)  # nothing at all may have been sent
    found_s = at_rest_s - HELD_UP_S
    return max(
        0.0, *(_behind_s(flow.link, per_s, done) - max(flow.delay_s, found_s) for flow in flows)
    )


def _behind_s(link: str, per_s: float, done: SentBurst) -> float:
    """Return the time by which a flow was behind.

    Where frames still came after the sink was read, they tell. Otherwise all had come by then,
    which may be late on a busy machine; so the frames that were missing shortly before the end of
    sending tell, if they are fewer. The last one sent may always be under way.
    """
    remaining = done.after.frames[link] - done.ended.frames[link]
    if remaining > 0 or not done.clocked:
        return done.lag_s + max(0, remaining - 1) / per_s
    sent = per_s * (done.during.time_ns - done.sent.began_ns) / 1e9
    missing = sent - (done.during.frames[link] - done.before.frames[link])
    return min(done.lag_s, max(0.0, missing - 1) / per_s)


class Sending:
    """A generator and a sink of a load of frames, and the flows between them."""

    def __init__(self, lab: LiveLab, load: FramesLoad) -> None:
        self.flows: list[ArrivingFlow] = streams(lab, load)
        self.sink = Sink(lab, load.to, self.flows)
        self.generator = Generator(lab, load, self.flows, self.sink.port)
        self._clocked = lab.clock(node_agent(load.on)) == lab.clock(node_agent(load.to))
        self.at_rest_s = 0.0
        """The one-way delay at rest in seconds of the slowest flow, by `measure_at_rest`; 0 if
        sender and receiver have two clocks."""

    def warm(self) -> None:
        """Send a short burst, which resolves neighbours and fills buffers.

        Without it, a router's request for the address of the sink is what first arrives over a
        link, and frames wait or are dropped until it is answered.
        """
        self.burst(WARMING_PER_S, WARMING_S)

    def measure_at_rest(self) -> None:
        """Find the delay at rest: the shortest time in which single frames arrive, if any do."""
        if self._clocked:
            times = [time_s for _ in range(SINGLES) if (time_s := self._single_s()) is not None]
            self.at_rest_s = min(times, default=0.0)

    def _single_s(self) -> float | None:
        """Return the seconds from the sending of one frame of each flow until all have arrived."""
        before = self.sink.read()
        sent = self.generator.send_one_each()
        after = self.sink.arriving(before, SINGLE_S)
        if any(after.frames[flow.link] == before.frames[flow.link] for flow in self.flows):
            return None
        return max(0.0, (after.time_ns - sent.ended_ns) / 1e9)

    def burst(self, per_s: float | None, seconds: float) -> SentBurst:
        """Send for `seconds` at a rate in frames/s, None: unlimited; count all that arrive."""
        before = self.sink.read()
        self.generator.begin(per_s)
        select.select([self.generator.session], [], [], seconds)
        during = self.sink.read()
        sent = self.generator.end()
        ended = self.sink.read()
        after = self.sink.settled(before, sent.frames)
        ordered = self.sink.ordered()
        return SentBurst(
            sent=sent,
            before=before,
            during=during,
            ended=ended,
            after=after,
            ordered=ordered,
            clocked=self._clocked,
        )

    def behind_s(self, done: SentBurst, judged: Sequence[str]) -> float:
        """Return the seconds for which frames of judged flows still arrived (`behind_s`)."""
        deciding = [flow for flow in self.flows if flow.link in judged]
        per_s = done.sent.frames / len(self.flows) / done.sent.seconds
        return behind_s(deciding, per_s, done, self.at_rest_s)

    def close(self) -> None:
        """Stop receiving, and end the generator's session."""
        self.sink.close()
        self.generator.session.close()
