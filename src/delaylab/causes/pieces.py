"""Pieces of a packet's time, each with its cause, and the segments that they are parts of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from delaylab.causes.cpus import Stretch
from delaylab.causes.records import IDLE, What


class Cause(StrEnum):
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
    RECLAIM = "memory reclaim"
    TIMER = "timer"
    QUEUE = "queue of a link"
    RATE = "rate of a link"
    DELAY = "delay of a link"
    LINK = "link conditions"
    TCP = "TCP retransmission"
    BEYOND = "beyond this machine"
    UNKNOWN = "unknown"


ON_CPU = {
    What.SOFTIRQ: Cause.SOFTIRQ,
    What.INTERRUPT: Cause.INTERRUPT,
    What.STOLEN: Cause.STOLEN,
}
"""The causes of what takes a CPU from any task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Stretch):
    """A segment of a packet's way, from one stamp to the next.

    `by` are those whose tasks stamped the packet at its end, None if the kernel did: processes, or
    parts of labs (`part_of`). With `timer` nothing came in it but a timer: the packet was
    still to be sent.
    """

    by: frozenset[int | str] | None = None
    timer: bool = False


@dataclass(frozen=True, slots=True)
class CausePiece:
    """A piece of a segment's time: its cause, and the task that was the cause, IDLE if none was.

    Of a wait for a CPU and of interrupts `task` is who had the CPU; of a stop it is who sent the
    signal. `of` is the task that the packet waited for. `where` says what held it (`Hold.where`).
    """

    cause: Cause
    ns: int
    task: int = IDLE
    of: int = IDLE
    cpu: int | None = None
    where: str = ""
