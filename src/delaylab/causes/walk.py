"""The way back through a segment of a packet: from its end to its start, task by task.

A packet is in the hands of a task, or of the kernel on a CPU. From the end of a segment the walk
goes back in time: while the task ran, the time is its own; while it waited for a CPU, the time is
of whoever had that CPU; while it slept, the packet was with whoever woke it, and the walk goes on
there. So a chain is followed: late because ksoftirqd waited because a program ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from delaylab.causes.cpus import CpuTime, Span
from delaylab.causes.records import IDLE, CpuRecord, How, Recorded, What
from delaylab.causes.tasks import InState, State, Timeline, timeline

STEPS = 100
"""The most steps back through one segment; a walk that needs more has gone in a circle."""
LONG_IDLE_NS = 1_000_000
"""The time from which on a task that waits for an idle CPU is held up by its quota.

The wake-up of an idle CPU takes some 100 µs at most; a quota is given anew every 100 ms.
"""
SIGSTOP = 19
KSOFTIRQD = "ksoftirqd/"


class Cause(str, Enum):
    """The causes of a packet's time, in the words of the field."""

    OWN = "computing"
    HELD = "run-queue wait"
    IDLE_WAKE = "wake-up of an idle CPU"
    QUOTA = "CPU quota"
    SOFTIRQ = "softirq"
    INTERRUPT = "interrupt"
    STOLEN = "steal"
    STOPPED = "stopped by a signal"
    BLOCKED = "blocked in the kernel"
    LINK = "link conditions"
    TIMER = "its own timer"
    UNKNOWN = "unknown"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Span):
    """A segment of a packet: the processes whose tasks may have it in their hands.

    `delays` is True if a link with conditions holds the packet back in it, as configured.
    """

    processes: frozenset[int]
    delays: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a segment's time: its cause, and the task that had it, IDLE if it was none's.

    Of a wait for a CPU and of interrupts `task` is who had the CPU; of a stop it is who sent the
    signal; `of` is whose progress waited.
    """

    cause: Cause
    ns: int
    task: int = IDLE
    of: int = IDLE
    cpu: int | None = None


class Walker:
    """What the CPUs of one machine did in a window, and the walks through it."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.cpus: Mapping[int, CpuTime] = {
            cpu: CpuTime(records) for cpu, records in recorded.records.items()
        }
        self._timeline = cache(lambda task: timeline(task, recorded.records))

    def pieces(self, stage: Stage) -> list[Piece]:
        """Return the pieces of a segment's time, the last one first; they add up to it."""
        found = list(self._walk(stage))
        left = stage.length_ns - sum(piece.ns for piece in found)
        return [*found, Piece(Cause.UNEXPLAINED, left)] if left else found

    def _walk(self, stage: Stage) -> Iterator[Piece]:
        now, task = stage.end_ns, self._carrier(stage.end_ns, stage.processes)
        for _ in range(STEPS):
            if now <= stage.start_ns or task is None:
                return
            states: Timeline = self._timeline(task)
            state = states.at(now)
            if state is None or state.state == State.UNKNOWN:
                since_ns = max(stage.start_ns, state.start_ns) if state else stage.start_ns
                yield Piece(Cause.UNKNOWN, now - since_ns, of=task)
                now = since_ns
                continue
            since_ns = max(stage.start_ns, state.start_ns)
            if state.state in (State.RUNNING, State.WAITING):
                yield from self._on_cpu(state, task, since_ns, now)
                now = since_ns
            elif state.state == State.STOPPED:
                yield Piece(Cause.STOPPED, now - since_ns, self._stopper(task, now), task)
                now = since_ns
            elif state.state == State.BLOCKED:
                yield Piece(Cause.BLOCKED, now - since_ns, of=task)
                now = since_ns
            elif state.start_ns < stage.start_ns:
                # The packet came while the task slept: it was with whoever woke the task.
                task = self._waker(state)
                if task is None:
                    yield Piece(Cause.IDLE_WAKE, now - stage.start_ns, of=IDLE)
                    return
            else:
                cause = Cause.LINK if stage.delays else Cause.TIMER
                yield Piece(cause, now - since_ns, of=task)
                now = since_ns

    def _on_cpu(self, state: InState, task: int, start_ns: int, end_ns: int) -> Iterator[Piece]:
        """Yield the pieces of a time in which a task ran, or waited for its CPU."""
        cpu = self.cpus[state.cpu] if state.cpu is not None else CpuTime(())
        waits = state.state == State.WAITING
        for part in cpu.parts(start_ns, end_ns):
            yield Piece(_cause(part.to, part.task, state if waits else None), part.ns,
                        part.task or IDLE, task, state.cpu)

    def _carrier(self, time_ns: int, processes: frozenset[int]) -> int | None:
        """Return the task that had a packet at a time; None if nobody knows.

        It is a task of these processes that ran then on some CPU, else a ksoftirqd that did.
        """
        running = [run.task for cpu in self.cpus.values() if (run := cpu.run_at(time_ns))]
        known = [task for task in running if task]
        tasks = self.recorded.tasks
        for task in known:
            if task in tasks and tasks[task].process in processes:
                return task
        for task in known:
            if task in tasks and tasks[task].name.startswith(KSOFTIRQD):
                return task
        return None

    def _waker(self, state: InState) -> int | None:
        """Return the task that woke another; None if an idle CPU did, or nobody knows."""
        return state.woken.other or None if state.woken is not None else None

    def _stopper(self, task: int, before_ns: int) -> int:
        """Return the task that sent the signal that stopped this one; IDLE if it was not seen."""
        tasks = self.recorded.tasks
        process = tasks[task].process if task in tasks else task
        sent = [
            record
            for records in self.recorded.records.values()
            for record in records
            if record.what == What.SIGNAL
            and record.number == SIGSTOP
            and record.time_ns <= before_ns
            and record.task in (task, process)
        ]
        return max(sent, key=lambda record: record.time_ns).other if sent else IDLE


def _cause(to: What, task: int | None, waits: InState | None) -> Cause:
    """Return the cause of a part of a CPU's time; `waits` is the wait for it, None for a run."""
    if task is None:
        return Cause.UNKNOWN
    if to == What.SOFTIRQ:
        return Cause.SOFTIRQ
    if to == What.INTERRUPT:
        return Cause.INTERRUPT
    if to == What.STOLEN:
        return Cause.STOLEN
    if waits is None:
        return Cause.OWN
    if task != IDLE:
        return Cause.HELD
    return Cause.QUOTA if waits.length_ns >= LONG_IDLE_NS else Cause.IDLE_WAKE
