"""Sources of evidence on the bias of a ping's packets: what they waited for, or the machine's use.

What each packet waited for is the better one. Where CPUs cannot be recorded the use decides.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from delaylab.agent.recording import CpuRecording
from delaylab.agent.stream import ready
from delaylab.causes.biased import EvidenceByCauses
from delaylab.causes.pieces import Stage
from delaylab.causes.records import CpuWindow
from delaylab.units import Duration
from delaylab.verbs.ping.judging import is_judged, measured_time
from delaylab.verbs.ping.machine import MachineWatch
from delaylab.verbs.ping.reading import OnPacket
from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.why import AFTER_NS, BEFORE_NS, stages_of
from delaylab.verdicts.bias import BEFORE_NS as USE_BEFORE_NS
from delaylab.verdicts.bias import (
    LEAST_INTERVAL,
    LOOK_S,
    SAMPLES_S,
    STEAL_NS,
    BiasEvidence,
    EvidenceByUse,
    MeasuredTime,
    is_clean_now,
)

AHEAD_S = STEAL_NS / 1e9 + USE_BEFORE_NS / 1e9
"""The time for which the machine's use is watched before the first packet."""
STRETCH_NS = 500_000_000
"""The time of the packets that one window of records is asked for."""
WINDOWS_S = 10.0
"""The longest wait for windows after a round: a busy machine answers late."""
LEAST_BY_CAUSES = Duration.parse("1ms")
"""The shortest interval of packets that are judged by causes: each takes CPU time to look at."""
Judgeable = tuple[MeasuredTime, Sequence[Stage]]


class EvidenceSource(Protocol):
    """A source of evidence that is read while packets are sent, and asked before each repeat."""

    @property
    def evidence(self) -> BiasEvidence:
        """Return the evidence so far."""

    @property
    def least_interval(self) -> Duration:
        """Return the shortest interval of packets that it can judge."""

    @property
    def waited_s(self) -> float:
        """Return for how long repeats waited until the machine was clean."""

    @property
    def takers(self) -> Sequence[OnPacket]:
        """Return what takes each packet once its fate is known."""

    @property
    def ended(self) -> bool:
        """Return True if no more evidence comes."""

    def begin(self) -> None:
        """Get ready for the first packet."""

    def settle(self, packets: Sequence[PingPacket]) -> None:
        """Wait until the evidence reaches these packets, which are all of a round."""

    def may_send(self, due_s: float, until_s: float) -> bool:
        """Wait until a packet may be sent, not before it is due; return False if none may be.

        Times are in s of the monotonic clock.
        """


class SourceByUse:
    """The use of the machine, by samples; repeats wait until the machine is clean."""

    least_interval = LEAST_INTERVAL

    def __init__(self, machine: MachineWatch, own_bps: float | None) -> None:
        self._machine = machine
        self.evidence = EvidenceByUse(machine.meanwhile, own_bps)
        self.waited_s = 0.0

    @property
    def takers(self) -> Sequence[OnPacket]:
        """Return nothing: the samples of a packet's time come by themselves."""
        return ()

    @property
    def ended(self) -> bool:
        """Return True if no more evidence comes."""
        return self._machine.ended

    def begin(self) -> None:
        """Watch the machine for as long as a packet depends on."""
        self._machine.follow(time.monotonic() + AHEAD_S)

    def settle(self, packets: Sequence[PingPacket]) -> None:
        """Wait until the machine's samples reach to the last answer."""
        known = [measured_time(each).until_ns for each in packets if each.sent_ns is not None]
        until_ns, until_s = max(known, default=0), time.monotonic() + SAMPLES_S
        while not self.ended and time.monotonic() < until_s:
            span = self.evidence.span_ns
            if span is not None and span[1] >= until_ns:
                return
            self._machine.follow(min(until_s, time.monotonic() + LOOK_S))

    def may_send(self, due_s: float, until_s: float) -> bool:
        """Wait until a packet is due and the machine is clean; return False if it is not."""
        self._machine.follow(min(until_s, due_s))
        began_s = time.monotonic()
        try:
            while not self.ended and time.monotonic() < until_s:
                if is_clean_now(self.evidence, time.time_ns()):
                    return True
                self._machine.follow(min(until_s, time.monotonic() + LOOK_S))
        finally:
            self.waited_s += time.monotonic() - began_s
        return False


class SourceByCauses:
    """The waits of each packet, by windows of what CPUs did; repeats need not wait.

    A packet is judged by what happened to it, so it does not matter how busy the machine is.
    Packets that are near each other in time share a window. `program` is the process that sends;
    `here` says that who answers is on this machine.
    """

    least_interval = LEAST_BY_CAUSES
    waited_s = 0.0

    def __init__(
        self, recording: CpuRecording, program: int, interval: Duration, *, here: bool
    ) -> None:
        self._recording, self._interval = recording, interval
        self._program = frozenset[int | str]({program})
        self.evidence = EvidenceByCauses(here)
        self._seen: set[MeasuredTime] = set()
        self._stretch = _Stretch()
        self._asked = 0

    @property
    def takers(self) -> Sequence[OnPacket]:
        """Return what takes each packet once its fate is known."""
        return (self.add,)

    @property
    def ended(self) -> bool:
        """Return True if no more evidence comes."""
        return self._recording.ended

    def begin(self) -> None:
        """Do nothing: a packet depends on nothing before its own time."""

    def add(self, packet: PingPacket) -> None:
        """Take a packet; ask for the window of a stretch once the next one would not fit in."""
        time, stages = measured_time(packet), judged_stages(packet, self._program)
        if not is_judged(packet) or stages is None or time in self._seen:
            return
        self._seen.add(time)
        if packet.rtt_user_ns is None:
            # It was given up long after it was sent: others of its time have been asked for.
            alone = _Stretch()
            alone.add(time, stages)
            self._ask(alone)
            return
        if self._stretch.length_with(stages) > STRETCH_NS:
            self._ask_rest()
        self._stretch.add(time, stages)
        if self._stretch.length_ns + self._interval.ns > STRETCH_NS:
            self._ask_rest()

    def settle(self, packets: Sequence[PingPacket]) -> None:
        """Ask for what was not asked for yet, and wait for the windows."""
        for each in packets:
            self.add(each)
        self._ask_rest()
        until_s = time.monotonic() + WINDOWS_S
        while self._asked and not self.ended and (left_s := until_s - time.monotonic()) > 0:
            self._read(left_s)

    def may_send(self, due_s: float, until_s: float) -> bool:
        """Wait until a packet is due; return False if that is too late."""
        while not self.ended and (left_s := min(until_s, due_s) - time.monotonic()) > 0:
            self._read(left_s)
        return not self.ended and time.monotonic() < until_s

    def _read(self, timeout_s: float) -> None:
        if ready([self._recording.session], timeout_s):
            self._recording.read()

    def _ask_rest(self) -> None:
        self._ask(self._stretch)
        self._stretch = _Stretch()

    def _ask(self, stretch: _Stretch) -> None:
        if stretch.packets:
            self._asked += 1
            then = partial(self._note, stretch.packets)
            self._recording.ask(stretch.start_ns - BEFORE_NS, stretch.end_ns + AFTER_NS, then)

    def _note(self, packets: Sequence[Judgeable], recorded: CpuWindow) -> None:
        self._asked -= 1
        self.evidence.add(recorded, packets)


@dataclass(slots=True)
class _Stretch:
    """Packets that one window is asked for, and when their segments begin and end."""

    packets: list[Judgeable] = field(default_factory=list)
    start_ns: int = 0
    end_ns: int = 0

    def add(self, time: MeasuredTime, stages: Sequence[Stage]) -> None:
        """Add a packet."""
        self.start_ns, self.end_ns = self._span_ns(stages)
        self.packets.append((time, stages))

    @property
    def length_ns(self) -> int:
        """Return how long it is."""
        return self.end_ns - self.start_ns

    def length_with(self, stages: Sequence[Stage]) -> int:
        """Return how long it would be with another packet."""
        start_ns, end_ns = self._span_ns(stages)
        return end_ns - start_ns

    def _span_ns(self, stages: Sequence[Stage]) -> tuple[int, int]:
        start_ns, end_ns = stages[0].start_ns, stages[-1].end_ns
        if not self.packets:
            return start_ns, end_ns
        return min(self.start_ns, start_ns), max(self.end_ns, end_ns)


def judged_stages(packet: PingPacket, program: frozenset[int | str]) -> Sequence[Stage] | None:
    """Return the judged segments of a packet that a program sent; None if it was not sent.

    Without an answer it is judged by its sending. The connection of a request counts as well.
    """
    if packet.sent_ns is None:
        return None
    time = measured_time(packet)
    late = Stage(start_ns=time.due_ns, end_ns=time.sent_ns, by=program, timer=True)
    if packet.rtt_user_ns is None:
        return [late]
    return stages_of(packet, program)
