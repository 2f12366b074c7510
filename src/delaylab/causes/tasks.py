"""The states of a task over a window: it ran, waited for a CPU, slept, or was stopped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice

from delaylab.causes.cpus import Stretch
from delaylab.causes.records import IDLE, CpuRecord, CpuWindow, How, What

SIGCONT, SIGSTOP = 18, 19
AT_ONCE_NS = 100_000
"""The time within which a signal wakes the task that gets it, before or after it is recorded."""


class State(Enum):
    """The states of a task."""

    RUNNING = "running"
    WAITING = "waiting for a CPU"
    ASLEEP = "asleep"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    THROTTLED = "out of quota"
    UNKNOWN = "unknown"


LEFT = {
    How.RUNNABLE: State.WAITING,
    How.ASLEEP: State.ASLEEP,
    How.BLOCKED: State.BLOCKED,
    How.STOPPED: State.STOPPED,
    How.THROTTLED: State.THROTTLED,
}
"""The state of a task after it left its CPU."""
SLEEPS = frozenset({State.ASLEEP, State.BLOCKED, State.STOPPED})
"""The states that a waking ends."""
PAUSES = SLEEPS | {State.THROTTLED}
"""The states from which a task gets a CPU without a record between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InState(Stretch):
    """A stretch for which a task was in one state.

    `cpu` is where it ran, or the CPU that it was waiting for, None if it is not known. `woken` is
    the record of the waking that ended a sleep, None if there is none.
    """

    state: State
    cpu: int | None = None
    woken: CpuRecord | None = None


class TaskStates:
    """The states of one task, in the order of time."""

    def __init__(self, states: Sequence[InState]) -> None:
        self.states = list(states)
        self._starts = [each.start_ns for each in self.states]

    def at(self, time_ns: int) -> InState | None:
        """Return the state at a time: the earlier one where two meet. None if it is not known."""
        place = bisect_right(self._starts, time_ns - 1) - 1
        found = self.states[place] if place >= 0 else None
        return found if found and time_ns <= found.end_ns else None

    def before(self, time_ns: int) -> Iterator[InState]:
        """Yield the states that began before a time, the last one first."""
        place = bisect_right(self._starts, time_ns - 1)
        yield from reversed(self.states[:place])


def timeline(task: int, recorded: CpuWindow) -> TaskStates:
    """Return the states of a task over a window."""
    return TaskStates(list(_states(list(_events(task, recorded)), recorded)))


@dataclass(frozen=True, slots=True)
class _Event:
    """A change of a task's state: what it is from `time_ns` on, and what it was until then.

    `before` is None if it is not known.
    """

    time_ns: int
    after: State
    before: State | None
    cpu: int
    waking: CpuRecord | None = None


def _events(task: int, recorded: CpuWindow) -> Iterator[_Event]:
    """Yield the changes of a task's state, in the order of time."""
    process = recorded.tasks[task].process if task in recorded.tasks else task
    found = []
    for cpu, each in recorded.records.items():
        for record in each:
            if record.what == What.SWITCH and record.task == task:
                found.append(_Event(record.time_ns, State.RUNNING, State.WAITING, cpu))
            elif record.what == What.SWITCH and record.other == task:
                found.append(
                    _Event(record.time_ns, LEFT.get(record.how, State.UNKNOWN), State.RUNNING, cpu)
                )
            elif record.what == What.WAKING and record.task == task:
                # A task that is continued was stopped, also if nobody saw that.
                continued = _continued(record, recorded, (task, process))
                before = State.STOPPED if continued else None
                found.append(_Event(record.time_ns, State.WAITING, before, cpu, record))
    found.sort(key=lambda event: event.time_ns)
    yield from found


def _continued(waking: CpuRecord, recorded: CpuWindow, to: tuple[int, int]) -> bool:
    """Return True if a task was woken by the signal that continues it."""
    records = recorded.records[waking.cpu]
    first = bisect_left(records, waking.time_ns - AT_ONCE_NS, key=lambda record: record.time_ns)
    for record in islice(records, first, None):
        if record.time_ns > waking.time_ns + AT_ONCE_NS:
            return False
        if record.what == What.SIGNAL and record.number == SIGCONT and record.task in to:
            return True
    return False


def _states(events: Sequence[_Event], window: CpuWindow) -> Iterator[InState]:
    """Yield the stretches between two changes, before the first of them, and after the last one.

    A waking of a task that runs, or that waits for a CPU already, changes nothing. A task waits for
    the CPU that it got in the end. One that slept and got a CPU was woken, seen or not. Where two
    changes do not fit together in another way, what was between them is not known.
    """
    state, since_ns, cpu = None, window.start_ns, None
    for event in events:
        if event.waking and state in (State.RUNNING, State.WAITING):
            continue
        if event.time_ns > since_ns:
            was = _was(state, event)
            waits = was in (State.WAITING, State.THROTTLED)
            unseen = was == State.ASLEEP and event.waking is None
            yield InState(
                start_ns=since_ns,
                end_ns=event.time_ns,
                state=was,
                cpu=event.cpu if waits or state is None or unseen else cpu,
                woken=event.waking,
            )
        state, since_ns, cpu = event.after, event.time_ns, event.cpu
    if state is not None and window.end_ns > since_ns:
        yield InState(start_ns=since_ns, end_ns=window.end_ns, state=state, cpu=cpu)


def _was(state: State | None, event: _Event) -> State:
    """Return the state of a task before a change; `state` is what the change before left it in."""
    if state is None:
        return State.ASLEEP if event.before is None else event.before
    if event.before in (None, state):
        return state
    if event.before == State.STOPPED and state in SLEEPS:
        return State.STOPPED
    return state if event.before == State.WAITING and state in PAUSES else State.UNKNOWN


def reclaims(recorded: CpuWindow) -> dict[int, list[Stretch]]:
    """Return the times for which tasks looked for memory."""
    found: dict[int, list[Stretch]] = {}
    for records in recorded.records.values():
        for each in records:
            if each.what == What.RECLAIM:
                since_ns = each.time_ns - each.length_ns
                time = Stretch(start_ns=since_ns, end_ns=each.time_ns)
                found.setdefault(each.task, []).append(time)
    return found


def stopper(task: int, stopped_ns: int, recorded: CpuWindow) -> int:
    """Return the task that sent the signal that stopped another; IDLE if it was not seen."""
    known = recorded.tasks.get(task)
    process = known.process if known else task
    sent = [
        record
        for records in recorded.records.values()
        for record in records
        if record.what == What.SIGNAL
        and record.number == SIGSTOP
        and record.time_ns <= stopped_ns
        and record.task in (task, process)
    ]
    return max(sent, key=lambda record: record.time_ns).other if sent else IDLE
