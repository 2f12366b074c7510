"""Records of what the CPUs of a machine did in a window of time, and of who its tasks are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

WRAP = 1 << 32
"""The number at which counts of the recorder begin anew."""
OF_KERNEL = 1 << 32
"""The numbers of tasks for each kernel, where there are those of several (`numbered_from`)."""
LINK = "link."
"""The start of the places of link engines."""
IDLE = 0
"""The task of a CPU that has nothing to do."""


class What(StrEnum):
    """The kinds of records (docs/protocol.md, table `cpus`)."""

    SWITCH = "switch"
    WAKING = "waking"
    SOFTIRQ = "softirq"
    INTERRUPT = "interrupt"
    SIGNAL = "signal"
    STOLEN = "stolen"
    RECLAIM = "reclaim"


class How(StrEnum):
    """The ways in which a task leaves its CPU, and in which one is woken."""

    RUNNABLE = "runnable"
    ASLEEP = "asleep"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    ENDED = "ended"
    THROTTLED = "throttled"
    BY_TASK = "task"
    BY_TIMER = "timer"
    BY_INTERRUPT = "interrupt"
    BY_NETWORK = "network"
    BY_SOFTIRQ = "softirq"
    NONE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRecord:
    """One record of one CPU; `time_ns` is in ns since the Unix epoch.

    Of a switch `task` has the CPU from now on, `other` had it before and left it as `how` says;
    `number` is the CPU's own count of switches, `length_ns` the time that `other` has run in
    its life, or of IDLE how long it was idle, 0 if that is not known, and `softirqs` and
    `interrupts` the time in these until now, in units of 64 ns. Of a waking `task` was woken
    while `other` ran. Of a softirq or an interrupt `length_ns` is what it took; the record is
    of its end. Of a signal (`number`) `task` gets it and `other` sent it. Of stolen time
    `length_ns` is all that the hypervisor took until now. Of a reclaim `task` looked for memory for
    `length_ns`; the record is of its end.
    """

    time_ns: int
    cpu: int
    what: What
    how: How = How.NONE
    task: int = IDLE
    other: int = IDLE
    number: int = 0
    length_ns: int = 0
    softirqs: int = 0
    interrupts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A thread: its process, its name, and what it is a part of.

    `lab` and `place` are the lab that it runs in and the part of it, such as `node.one` or
    `link.here`; None outside of labs. A task in a virtual machine that handles no packets of the
    lab has a place alone. `of_agent` is True of an agent. With `placed` False it ended before
    anybody could see what it was a part of. `group` is the control group that its CPU time
    counts for, "" if it is not known.
    """

    process: int
    name: str
    placed: bool = True
    lab: str | None = None
    place: str | None = None
    of_agent: bool = False
    group: str = ""

    @property
    def of_engine(self) -> bool:
        """Return True for a task of a link engine."""
        return (self.place or "").startswith(LINK)

    @property
    def part(self) -> str | None:
        """Return its place and lab, such as `node.one of home`; None outside of labs."""
        return None if self.place is None else part_of(self.place, self.lab or "")


def part_of(place: str, lab: str) -> str:
    """Return the name of a part of a lab that no other lab's part has."""
    return f"{place} of {lab}"


def labs_of(tasks: Iterable[Task], by: frozenset[int | str]) -> set[str]:
    """Return the labs of the tasks of these processes or parts of labs."""
    return {task.lab for task in tasks if task.lab is not None and is_of(task, by)}


def is_of(task: Task, by: frozenset[int | str]) -> bool:
    """Return True for a task of one of these processes or parts of labs."""
    return task.process in by or task.part in by


@dataclass(frozen=True, slots=True, kw_only=True)
class Retransmission:
    """A TCP segment that a kernel sent again at `time_ns`, in ns since the Unix epoch.

    `first_ns` is when the first of what the other end had not acknowledged was sent first, None of
    a SYN. With `needless` the other end is known to have had the segment already. The ports are
    those of who sent it and of the other end; `place` is the part of a lab that sent it.
    """

    time_ns: int
    first_ns: int | None
    local_port: int
    remote_port: int
    needless: bool = False
    lab: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuWindow:
    """The records of a window on one machine, in the order of time for each CPU, and the tasks.

    The window is from `start_ns` to `end_ns`. The first record of a CPU may be from before it: the
    switch to the task that had the CPU when the window began. `retransmissions` are the segments
    that the kernel sent again in it, of all connections, in the order of time.
    """

    start_ns: int
    end_ns: int
    records: Mapping[int, list[CpuRecord]] = field(default_factory=dict)
    tasks: Mapping[int, Task] = field(default_factory=dict)
    retransmissions: Sequence[Retransmission] = ()


def numbered_from(window: CpuWindow, first: int) -> CpuWindow:
    """Return a window whose tasks have numbers from `first` on, as another kernel has the same."""

    def number(task: int) -> int:
        return task if task == IDLE else first + task

    return replace(
        window,
        tasks={
            number(task): replace(known, process=number(known.process))
            for task, known in window.tasks.items()
        },
        records={
            cpu: [replace(each, task=number(each.task), other=number(each.other)) for each in found]
            for cpu, found in window.records.items()
        },
    )


def moved(window: CpuWindow, by_ns: int) -> CpuWindow:
    """Return a window whose times are later by so much, as another clock has them."""
    return replace(
        window,
        start_ns=window.start_ns + by_ns,
        end_ns=window.end_ns + by_ns,
        records={
            cpu: [replace(each, time_ns=each.time_ns + by_ns) for each in found]
            for cpu, found in window.records.items()
        },
    )


def by_cpu(records: Iterable[CpuRecord]) -> dict[int, list[CpuRecord]]:
    """Return the records of each CPU, in the order of time."""
    found: dict[int, list[CpuRecord]] = {}
    for record in records:
        found.setdefault(record.cpu, []).append(record)
    for each in found.values():
        each.sort(key=lambda record: record.time_ns)
    return found
