"""Stretches of CPU time, of one task each, with the interrupts in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from delaylab.causes.records import WRAP, CpuRecord, How, What

UNIT_NS = 64
"""The unit of the time in interrupts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of time, from `start_ns` to `end_ns`."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """Return how long it is."""
        return self.end_ns - self.start_ns

    @property
    def times(self) -> tuple[int, int]:
        """Return when it begins and ends."""
        return self.start_ns, self.end_ns

    def overlap_ns(self, start_ns: int, end_ns: int) -> int:
        """Return how much of it lies between two times."""
        return max(0, min(self.end_ns, end_ns) - max(self.start_ns, start_ns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Stretch):
    """A stretch for which a CPU had one task, which left it as `left` says.

    `task` is None where switches were not seen: nobody knows who ran. `softirq_ns` and
    `interrupt_ns` are the parts of the stretch that these took, `stolen_ns` is what a hypervisor
    took.
    """

    task: int | None
    left: How = How.NONE
    softirq_ns: int = 0
    interrupt_ns: int = 0
    stolen_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LongInterrupt(Stretch):
    """A softirq or an interrupt that was long enough for a record of its own."""

    softirq: bool
    number: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a time on a CPU: what it went to, and for how long.

    `task` had the CPU, or None if that is not known. `to` says if the time was its own.
    """

    to: What
    task: int | None
    ns: int


class CpuTime:
    """The runs of one CPU until the end of a window, in the order of time and without a gap."""

    def __init__(self, records: Sequence[CpuRecord], end_ns: int) -> None:
        self.runs = list(_runs(records, end_ns))
        self.interrupts = list(_long(records))
        self._starts = [run.start_ns for run in self.runs]
        self._ends = [each.end_ns for each in self.interrupts]

    def run_at(self, time_ns: int) -> Run | None:
        """Return the run that a time lies in; None outside of the window."""
        place = bisect_right(self._starts, time_ns) - 1
        found = self.runs[place] if place >= 0 else None
        return found if found and time_ns <= found.end_ns else None

    def parts(self, start_ns: int, end_ns: int) -> Iterator[Part]:
        """Yield what the CPU's time between two times went to; the parts add up to it.

        Long interrupts lie where they were. Short ones are spread evenly over the run that they
        interrupted. Times outside of the window are those of a task that is not known.
        """
        seen = 0
        first = max(0, bisect_right(self._starts, start_ns) - 1)
        for run in self.runs[first:]:
            if run.start_ns >= end_ns:
                break
            within = run.overlap_ns(start_ns, end_ns)
            if within:
                seen += within
                yield from self._of_run(run, max(start_ns, run.start_ns), within)
        if seen < end_ns - start_ns:
            yield Part(What.SWITCH, None, end_ns - start_ns - seen)

    def _of_run(self, run: Run, start_ns: int, within: int) -> Iterator[Part]:
        """Yield what a part of a run went to, from a time on, so many ns long."""
        if run.task is None:
            yield Part(What.SWITCH, None, within)
            return
        left = within
        whole = {What.SOFTIRQ: run.softirq_ns, What.INTERRUPT: run.interrupt_ns}
        for kind, total in whole.items():
            long = [each for each in self._long_in(run) if each.softirq == (kind == What.SOFTIRQ)]
            here = sum(each.overlap_ns(start_ns, start_ns + within) for each in long)
            short = max(0, total - sum(each.length_ns for each in long))
            spread = round(short * within / run.length_ns) if run.length_ns else 0
            took = min(left, here + spread)
            left -= took
            if took:
                yield Part(kind, run.task, took)
        stolen = min(left, round(run.stolen_ns * within / run.length_ns) if run.length_ns else 0)
        if stolen:
            yield Part(What.STOLEN, run.task, stolen)
        if left - stolen:
            yield Part(What.SWITCH, run.task, left - stolen)

    def _long_in(self, run: Run) -> list[LongInterrupt]:
        first = bisect_right(self._ends, run.start_ns)
        found = []
        for each in self.interrupts[first:]:
            if each.start_ns >= run.end_ns:
                break
            found.append(each)
        return found


def _runs(records: Sequence[CpuRecord], end_ns: int) -> Iterator[Run]:
    """Yield the runs from the first switch of a CPU on.

    Of the last one, which goes on, only the long interrupts are known.
    """
    switches = [record for record in records if record.what == What.SWITCH]
    stolen = [record for record in records if record.what == What.STOLEN]
    for one, after in pairwise(switches):
        whole = one.task == after.other and (after.number - one.number) % WRAP == 1
        if not whole:
            yield Run(start_ns=one.time_ns, end_ns=after.time_ns, task=None)
            continue
        yield Run(
            start_ns=one.time_ns,
            end_ns=after.time_ns,
            task=one.task,
            left=after.how,
            softirq_ns=(after.softirqs - one.softirqs) % WRAP * UNIT_NS,
            interrupt_ns=(after.interrupts - one.interrupts) % WRAP * UNIT_NS,
            stolen_ns=_stolen_ns(stolen, one.time_ns, after.time_ns),
        )
    if switches and end_ns > switches[-1].time_ns:
        last = switches[-1]
        long = [each for each in _long(records) if each.end_ns > last.time_ns]
        softirq_ns = sum(each.length_ns for each in long if each.softirq)
        yield Run(
            start_ns=last.time_ns,
            end_ns=end_ns,
            task=last.task,
            softirq_ns=softirq_ns,
            interrupt_ns=sum(each.length_ns for each in long) - softirq_ns,
        )


def _stolen_ns(stolen: Iterable[CpuRecord], start_ns: int, end_ns: int) -> int:
    """Return what a hypervisor took up to the switch that ended a run.

    The count is looked at in each switch, and its record is right in front of that of the switch.
    """
    found, before = 0, None
    for record in stolen:
        if before is not None and start_ns < record.time_ns <= end_ns:
            found += record.length_ns - before
        before = record.length_ns
    return found


def _long(records: Iterable[CpuRecord]) -> Iterator[LongInterrupt]:
    for record in records:
        if record.what in (What.SOFTIRQ, What.INTERRUPT):
            yield LongInterrupt(
                start_ns=record.time_ns - record.length_ns,
                end_ns=record.time_ns,
                softirq=record.what == What.SOFTIRQ,
                number=record.number,
            )
