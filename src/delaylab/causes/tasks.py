"""The states of a task over a window: it ran, waited for a CPU, slept, or was stopped."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from delaylab.causes.cpus import Span
from delaylab.causes.records import CpuRecord, How, What


class State(Enum):
    """The states of a task."""

    RUNNING = "running"
    WAITING = "waiting for a CPU"
    ASLEEP = "asleep"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


LEFT = {
    How.RUNNABLE: State.WAITING,
    How.ASLEEP: State.ASLEEP,
    How.BLOCKED: State.BLOCKED,
    How.STOPPED: State.STOPPED,
    How.ENDED: State.UNKNOWN,
    How.NONE: State.UNKNOWN,
}
"""The state of a task after it left its CPU."""
SLEEPS = frozenset({State.ASLEEP, State.BLOCKED, State.STOPPED})
"""The states that a waking ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InState(Span):
    """A stretch for which a task was in one state.

    `cpu` is where it ran, or the CPU that it was waiting for, None if it is not known. `woken` is
    the record of the waking that ended a sleep, None if there is none.
    """

    state: State
    cpu: int | None = None
    woken: CpuRecord | None = None


class Timeline:
    """The states of one task, in the order of time."""

    def __init__(self, states: Sequence[InState]) -> None:
        self.states = list(states)
        self._starts = [each.start_ns for each in self.states]

    def at(self, time_ns: int) -> InState | None:
        """Return the state at a time: the earlier one where two meet. None if it is not known."""
        place = bisect_right(self._starts, time_ns - 1) - 1
        found = self.states[place] if place >= 0 else None
        return found if found and time_ns <= found.end_ns else None


def timeline(task: int, records: Mapping[int, Sequence[CpuRecord]]) -> Timeline:
    """Return the states of a task between the first and the last record of it."""
    return Timeline([*_states(list(_events(task, records)))])


@dataclass(frozen=True, slots=True)
class _Event:
    """A change of a task's state: what it is from `time_ns` on, and what it was until then."""

    time_ns: int
    after: State
    before: State | None
    cpu: int
    record: CpuRecord


def _events(task: int, records: Mapping[int, Sequence[CpuRecord]]) -> Iterator[_Event]:
    """Yield the changes of a task's state, in the order of time."""
    found = []
    for cpu, each in records.items():
        for record in each:
            if record.what == What.SWITCH and record.task == task:
                found.append(_Event(record.time_ns, State.RUNNING, State.WAITING, cpu, record))
            elif record.what == What.SWITCH and record.other == task:
                after = LEFT[record.how]
                found.append(_Event(record.time_ns, after, State.RUNNING, cpu, record))
            elif record.what == What.WAKING and record.task == task:
                found.append(_Event(record.time_ns, State.WAITING, None, cpu, record))
    found.sort(key=lambda event: event.time_ns)
    yield from found


def _states(events: Sequence[_Event]) -> Iterator[InState]:
    """Yield the stretches between two changes.

    A waking of a task that runs, or that waits for a CPU already, changes nothing. A task is waiting
    for the CPU that it got in the end. One that slept and got a CPU was woken, seen or not. Where
    two changes do not fit together in another way, what was between them is not known.
    """
    state, since_ns, cpu = State.UNKNOWN, 0, None
    for number, event in enumerate(events):
        waking = event.record.what == What.WAKING
        if waking and state in (State.RUNNING, State.WAITING):
            continue
        if number and event.time_ns > since_ns:
            known = (
                event.before is None
                or event.before == state
                or (event.before == State.WAITING and state in SLEEPS)
            )
            yield InState(
                start_ns=since_ns,
                end_ns=event.time_ns,
                state=state if known else State.UNKNOWN,
                cpu=event.cpu if state == State.WAITING and known else cpu,
                woken=event.record if waking else None,
            )
        state, since_ns, cpu = event.after, event.time_ns, event.cpu
