"""Causes in words: who had the CPU, who waited, and for how long."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.causes.explained import Explained
from delaylab.causes.pieces import Cause
from delaylab.causes.records import IDLE, OF_KERNEL, Task
from delaylab.causes.shares import CauseShare
from delaylab.causes.walk import KSOFTIRQD

SMALL = 0.05
"""The share of a packet's excess below which a cause is not named."""
MOST_NAMED = 3
COMM = 15
"""The most characters of a thread's name."""
KTHREADS = 2
"""The process that starts the kernel's own threads."""


def sentence(found: Explained) -> str:
    """Return why a packet was late: its largest causes with their shares."""
    named = [share for share in found.shares if share.ns >= SMALL * found.excess_ns]
    parts = [
        f"{us(share.ns)} {cause(share, found)} ({share.ns / found.excess_ns:.0%})"
        for share in named[:MOST_NAMED]
    ]
    return "; ".join(parts) or "no cause is known"


def cause(share: CauseShare, found: Explained, *, brief: bool = False) -> str:
    """Return one cause, with who it was and who waited.

    `brief` leaves out how long a queue was, so that packets that waited alike have the same words.
    """
    who, of = (task_name(task, found.tasks, found.lab) for task in (share.task, share.of))
    return {
        Cause.OWN: f"{of} computed",
        Cause.HELD: f"{of} waited for a CPU that {who} had",
        Cause.IDLE_WAKE: f"an idle CPU woke up for {of}",
        Cause.QUOTA: f"{of} had used up its CPU quota",
        Cause.SOFTIRQ: f"softirqs {_took_from(share.task, who)}",
        Cause.INTERRUPT: f"interrupts {_took_from(share.task, who)}",
        Cause.STOLEN: "the hypervisor took the CPU (steal)",
        Cause.STOPPED: f"{of} was stopped by {who}",
        Cause.BLOCKED: f"{of} was blocked in the kernel",
        Cause.RECLAIM: f"{of} looked for memory that could be freed",
        Cause.TIMER: f"{of} slept until a timer",
        Cause.QUEUE: f"in the queue of {share.where}{_queue(share, found, brief=brief)}",
        Cause.RATE: f"at the rate of {share.where}",
        Cause.DELAY: f"delayed by {share.where}, as configured",
        Cause.LINK: f"{of} delayed it as configured",
        Cause.TCP: f"TCP of {share.where} waited before it sent the segment again",
        Cause.BEYOND: "beyond this machine",
        Cause.UNKNOWN: "unknown",
    }[share.cause]


def _queue(share: CauseShare, found: Explained, *, brief: bool) -> str:
    """Return the frames that the packet was behind in a queue, if they are known."""
    queue = next((each for each in found.passages if each.where == share.where), None)
    if queue is None or not (words := queue.most if brief else queue.queue):
        return ""
    return f" ({words})" if brief else f" behind {words}"


def _took_from(task: int, who: str) -> str:
    """Return what softirqs or interrupts did, when a task had the CPU; ksoftirqd runs softirqs."""
    if task == IDLE:
        return "had the CPU"
    return f"had the CPU ({who})" if who.startswith(KSOFTIRQD) else f"took the CPU from {who}"


def task_name(number: int, tasks: Mapping[int, Task], lab: str | None) -> str:
    """Return a task's name, with whose it is: a part of a lab, or foreign with its process.

    `lab` is the lab that the packet was sent in, which is not named.
    """
    task = tasks.get(number)
    if number == IDLE:
        return "nobody"
    if task is None:
        return f"task {number % OF_KERNEL} (ended)"
    if task.lab is not None:
        place = task.place or "keeper"
        where = place if task.lab == lab else f"{place} of {task.lab}"
        return where if task.name.startswith(place[:COMM]) else f"{task.name} in {where}"
    if task.place is not None:
        return f"{task.name} in {task.place}"
    process = task.process % OF_KERNEL
    if task.of_agent or process == KTHREADS or task.name.startswith(KSOFTIRQD):
        return task.name
    return f"{task.name} ({'foreign' if task.placed else 'ended'}, {process})"


def us(nanoseconds: float) -> str:
    """Return a time in µs, from 1 ms on in ms."""
    return f"{nanoseconds / 1e3:.0f}µs" if abs(nanoseconds) < 1e6 else f"{nanoseconds / 1e6:.2f}ms"
