"""Blocks of a CPU's time, without a gap: who had it when, for lines and drawings of packets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from delaylab.api.causes import CpuTime, CpuWindow, Task, What, mended
from delaylab_study.analysis.causes.explained import LookedAt


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuBlock:
    """A stretch of a CPU's time that went to one thing, from `start_ns` to `end_ns`.

    `task` had the CPU; it is None where that is not known. `to` is SWITCH if the time was the
    task's own, else the SOFTIRQ or INTERRUPT that took it.
    """

    start_ns: int
    end_ns: int
    task: int | None
    to: What = What.SWITCH

    @property
    def ns(self) -> int:
        """Return how long it is."""
        return self.end_ns - self.start_ns


CpuBlocks = Mapping[str, Sequence[CpuBlock]]
"""The blocks of each CPU, in the order of time and without a gap.

A CPU's name is its number, on another machine than the sender's with that before it: `m2 0`.
"""


def blocks_of(packet: LookedAt) -> CpuBlocks:
    """Return who had each CPU on a packet's way, from when it was due to its answer."""
    found: dict[str, Sequence[CpuBlock]] = {}
    for machine, window in {"": packet.window, **packet.others}.items():
        of_machine = blocks(window, packet.start_ns, packet.end_ns)
        found |= {f"{machine} {cpu}".strip(): each for cpu, each in of_machine.items()}
    return found


def tasks_of(packet: LookedAt) -> Mapping[int, Task]:
    """Return the tasks that the blocks of a packet name."""
    windows = packet.window, *packet.others.values()
    return {number: task for window in windows for number, task in window.tasks.items()}


def blocks(window: CpuWindow, start_ns: int, end_ns: int) -> CpuBlocks:
    """Return who had each CPU of a window from one time to another.

    Softirqs and interrupts are blocks of their own if they have records of their own. An interrupt
    inside of a softirq is a part of that.
    """
    seen = mended(window)
    return {
        str(cpu): list(_covering(_known(CpuTime(records, seen.end_ns)), start_ns, end_ns))
        for cpu, records in sorted(seen.records.items())
    }


def most_of(found: Sequence[CpuBlock], start_ns: int, end_ns: int) -> int | None:
    """Return the task that had a CPU for most of a time; None if that is not known."""
    had = Counter[int | None]()
    for block in found:
        had[block.task] += max(0, min(block.end_ns, end_ns) - max(block.start_ns, start_ns))
    return had.most_common(1)[0][0] if had else None


def merged(found: Iterable[CpuBlock], least_ns: float) -> list[CpuBlock]:
    """Return blocks of at least `least_ns`, which cover the same time.

    Shorter ones are joined with those after them, to a block of what had the most of it.
    """
    together: list[list[CpuBlock]] = []
    for block in found:
        if together and _total_ns(together[-1]) < least_ns:
            together[-1].append(block)
        else:
            together.append([block])
    if len(together) > 1 and _total_ns(together[-1]) < least_ns:
        last = together.pop()
        together[-1] += last
    joined: list[CpuBlock] = []
    for block in map(_as_one, together):
        if joined and (joined[-1].task, joined[-1].to) == (block.task, block.to):
            joined[-1] = replace(joined[-1], end_ns=block.end_ns)
        else:
            joined.append(block)
    return joined


def at_most(found: CpuBlocks, least_ns: float, most: int) -> CpuBlocks:
    """Return merged blocks of at least `least_ns`; of longer ones if there were more than `most`.

    Each CPU keeps at least one block.
    """
    while True:
        joined = {cpu: merged(of_cpu, least_ns) for cpu, of_cpu in found.items()}
        if sum(map(len, joined.values())) <= max(most, len(joined)):
            return joined
        least_ns *= 2


def _total_ns(found: Sequence[CpuBlock]) -> int:
    return found[-1].end_ns - found[0].start_ns


def _as_one(found: Sequence[CpuBlock]) -> CpuBlock:
    """Return neighbours as one block, of what had the most of their time."""
    had = Counter[tuple[int | None, What]]()
    for block in found:
        had[block.task, block.to] += block.ns
    task, to = had.most_common(1)[0][0]
    return CpuBlock(start_ns=found[0].start_ns, end_ns=found[-1].end_ns, task=task, to=to)


def _known(cpu: CpuTime) -> Iterator[CpuBlock]:
    """Yield the blocks that records show, in the order of time."""
    long = sorted(cpu.interrupts, key=lambda each: each.start_ns)
    at = 0
    for run in cpu.runs:
        now_ns = run.start_ns
        while at < len(long) and long[at].start_ns < run.end_ns:
            each = long[at]
            start_ns, end_ns = max(now_ns, each.start_ns), min(each.end_ns, run.end_ns)
            if start_ns < end_ns:
                yield CpuBlock(start_ns=now_ns, end_ns=start_ns, task=run.task)
                to = What.SOFTIRQ if each.softirq else What.INTERRUPT
                yield CpuBlock(start_ns=start_ns, end_ns=end_ns, task=run.task, to=to)
                now_ns = end_ns
            if each.end_ns > run.end_ns:
                break
            at += 1
        yield CpuBlock(start_ns=now_ns, end_ns=run.end_ns, task=run.task)


def _covering(found: Iterable[CpuBlock], start_ns: int, end_ns: int) -> Iterator[CpuBlock]:
    """Yield the parts of blocks between two times, and unknown ones where there are gaps."""
    now_ns = start_ns
    for block in found:
        first_ns, last_ns = max(now_ns, block.start_ns), min(end_ns, block.end_ns)
        if first_ns >= last_ns:
            continue
        if first_ns > now_ns:
            yield CpuBlock(start_ns=now_ns, end_ns=first_ns, task=None)
        yield replace(block, start_ns=first_ns, end_ns=last_ns)
        now_ns = last_ns
    if now_ns < end_ns:
        yield CpuBlock(start_ns=now_ns, end_ns=end_ns, task=None)
