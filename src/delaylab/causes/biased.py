"""Bias of a packet by what it waited for on this machine: clean, biased or unknown, by causes.

The rule adds up what the machine's own causes took of the packet's time. It does not look at the
packet's delay: a packet that was under way for seconds elsewhere is clean, and one that waited here
is biased even if it came back quickly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from delaylab.causes.explained import WatchedPacket
from delaylab.causes.pieces import Cause, CausePiece, Stage
from delaylab.causes.records import CpuWindow
from delaylab.causes.shares import PacketPieces
from delaylab.causes.walk import Walker
from delaylab.verdicts.bias import BiasRule, MeasuredTime

BIASED_NS = 50_000
"""The time that this machine took of a packet from which on the packet is biased.

Softirqs and short waits of a quiet machine take less. It was set before any packet was judged.
"""
NAMED = 0.1
"""The part of what the machine took from which on a cause is a reason of its own."""
HOST: Mapping[Cause, str] = {
    Cause.HELD: "a task on the packet's way was ready to run, and another task had the CPU",
    Cause.QUOTA: "the control group of such a task had used up its CPU time",
    Cause.SOFTIRQ: "the kernel handled softirqs on the CPU of such a task",
    Cause.INTERRUPT: "interrupts took the CPU of such a task",
    Cause.STOLEN: "the hypervisor took the CPU of such a task",
    Cause.STOPPED: "a signal had stopped such a task",
    Cause.BLOCKED: "such a task was blocked in the kernel",
    Cause.RECLAIM: "such a task had to free memory before it got some",
    Cause.TIMER: "the timer that was to have the packet sent went off late",
}
"""The causes that are this machine's.

The wake-up of an idle CPU is not one of them: it belongs to the round trip of a quiet machine, too.
Nor is computing, which the packet needs, nor the conditions of a link.
"""
RULE = BiasRule(
    evidence="causes",
    text=f"a packet is biased if these took {BIASED_NS // 1000} µs or more of its time together, "
    "from when it was due to its reply; unknown if it is not biased, and of as much it is not "
    "known what it waited for; clean otherwise",
    reasons={cause.value: text for cause, text in HOST.items()},
    names={cause.value: cause.value for cause in HOST},
)


@dataclass(frozen=True, slots=True)
class HostTime:
    """The time that this machine took of a packet, by cause in ns, and the time that is unknown.

    It is a lower bound: what is unknown may be the machine's as well. `waited_ns` is the part of
    the round trip for which the packet waited here: for these causes, and for wake-ups of idle
    CPUs.
    """

    by_cause: Mapping[Cause, int]
    unknown_ns: int
    waited_ns: int

    @property
    def reasons(self) -> Sequence[Cause] | None:
        """Return the causes that bias the packet, the largest first; nothing if it is clean.

        None if that is not known.
        """
        total = sum(self.by_cause.values())
        if total >= BIASED_NS:
            largest = sorted(self.by_cause.items(), key=lambda item: -item[1])
            return [cause for cause, ns in largest if ns >= NAMED * total]
        return None if self.unknown_ns >= BIASED_NS else []


def host_time(pieces: PacketPieces, stages: Sequence[Stage], *, here: bool = False) -> HostTime:
    """Return what this machine took of a packet, by the pieces of its segments' time.

    A timer counts only where the packet was to be sent by it: a program that sleeps later does so
    on purpose. With `here` who answers is on this machine: what seems to be beyond it is unknown.
    """
    not_known = {Cause.UNKNOWN, Cause.BEYOND} if here else {Cause.UNKNOWN}
    took, unknown_ns, waited_ns = Counter[Cause](), 0, 0
    for of_segment, stage in zip(pieces, stages, strict=True):
        for piece in of_segment:
            if piece.cause in not_known:
                unknown_ns += piece.ns
            elif piece.cause in HOST and (piece.cause != Cause.TIMER or stage.timer):
                took[piece.cause] += piece.ns
                waited_ns += 0 if stage.timer else piece.ns
            elif piece.cause == Cause.IDLE_WAKE and not stage.timer:
                waited_ns += piece.ns
    return HostTime(took, unknown_ns, waited_ns)


def host_time_of(packet: WatchedPacket) -> HostTime:
    """Return what the kernels on a packet's way took of it, all parts together.

    A part whose window does not cover its segments is unknown.
    """
    pieces: list[list[CausePiece]] = []
    for part in packet.parts:
        known = part.recorded is None or _covers(part.recorded, part.stages)
        pieces += (part if known else replace(part, recorded=None)).pieces(packet.lab)
    return host_time(pieces, [stage for part in packet.parts for stage in part.stages])


def _covers(recorded: CpuWindow, stages: Sequence[Stage]) -> bool:
    return recorded.start_ns <= stages[0].start_ns and stages[-1].end_ns <= recorded.end_ns


@dataclass(frozen=True, slots=True)
class EvidenceByCauses:
    """A source of evidence that knows what packets waited for, by windows of what CPUs did.

    It knows of the packets alone that a window was given for. `here` says that who answers is on
    this machine.
    """

    here: bool = False
    _found: dict[MeasuredTime, HostTime] = field(default_factory=dict)

    def add(
        self, recorded: CpuWindow, packets: Iterable[tuple[MeasuredTime, Sequence[Stage]]]
    ) -> None:
        """Judge packets, each with its segments, by one window.

        A packet that is not within the window stays unknown.
        """
        walker = Walker(recorded)
        for time, stages in packets:
            if _covers(recorded, stages):
                pieces = walker.pieces(stages)
                self._found[time] = host_time(pieces, stages, here=self.here)

    @property
    def rule(self) -> BiasRule:
        """Return the rule that judges packets."""
        return RULE

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Return the time of the packets that are known; None if there are none."""
        if not self._found:
            return None
        return min(each.due_ns for each in self._found), max(each.until_ns for each in self._found)

    def reasons(self, time: MeasuredTime) -> Sequence[str] | None:
        """Return why the packet of this time is biased; nothing if it is clean.

        None if it is not known.
        """
        found = self._found.get(time)
        return None if found is None else found.reasons

    def waited_ns(self, time: MeasuredTime) -> int | None:
        """Return for how much of its round trip a packet waited here, in ns; None if not known."""
        found = self._found.get(time)
        return None if found is None else found.waited_ns

    def taken_ns(self, time: MeasuredTime) -> Mapping[str, int]:
        """Return at least how much each reason took of the packet of this time, in ns."""
        found = self._found.get(time)
        if found is None:
            return {}
        return {cause: found.by_cause[cause] for cause in found.reasons or ()}
