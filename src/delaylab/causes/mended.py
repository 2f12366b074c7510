"""Switches that nobody saw, found again where what is known of a CPU leaves only one of them.

Some kernels hide switches out of some tasks: the record of a switch to such a task is followed by
one from another task. The CPU's count says that one switch is missing. It was when the other task
got the CPU, which follows from how long that task has run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from delaylab.causes.records import IDLE, WRAP, CpuRecord, CpuWindow, How, What


def mended(window: CpuWindow) -> CpuWindow:
    """Return a window with the switches that must have been there."""
    ran = _run_times(window.records)
    records = {cpu: _with_missing(each, ran) for cpu, each in window.records.items()}
    return replace(window, records=records)


RunTimes = Mapping[int, Sequence[tuple[int, int]]]
"""The times at which each task left a CPU, with the time that it had run until then, in ns."""


def _run_times(records: Mapping[int, Sequence[CpuRecord]]) -> RunTimes:
    found: dict[int, list[tuple[int, int]]] = {}
    for each in records.values():
        for record in each:
            if record.what == What.SWITCH and record.other != IDLE:
                found.setdefault(record.other, []).append((record.time_ns, record.length_ns))
    for times in found.values():
        times.sort()
    return found


def _with_missing(records: Sequence[CpuRecord], ran: RunTimes) -> list[CpuRecord]:
    switches = [record for record in records if record.what == What.SWITCH]
    found = []
    for one, after in pairwise(switches):
        missing = (after.number - one.number) % WRAP - 1
        ran_ns = _last_run_ns(after, ran)
        if missing == 1 and ran_ns is not None and 0 < ran_ns < after.time_ns - one.time_ns:
            found.append(
                replace(
                    after,
                    time_ns=after.time_ns - ran_ns,
                    task=after.other,
                    other=one.task,
                    how=How.NONE,
                    number=(one.number + 1) % WRAP,
                    length_ns=0,
                    softirqs=one.softirqs,
                    interrupts=one.interrupts,
                )
            )
    return sorted([*records, *found], key=lambda record: record.time_ns)


def _last_run_ns(switch: CpuRecord, ran: RunTimes) -> int | None:
    """Return for how long the task that leaves has had the CPU; None if that is not known."""
    if switch.other == IDLE:
        return switch.length_ns or None
    times = ran[switch.other]
    place = bisect_left(times, (switch.time_ns,))
    return switch.length_ns - times[place - 1][1] if place else None
