"""Causes of late packets: records of what CPUs do, and what they say of a packet's time."""

from __future__ import annotations

from delaylab.causes.cpus import CpuTime
from delaylab.causes.drops import LOST, Drop, last_drops
from delaylab.causes.explained import Explained, WatchedPacket, WatchedPart, explain, usual_of
from delaylab.causes.holds import Hold, holds_within
from delaylab.causes.mended import mended
from delaylab.causes.passages import Passage, loss_words
from delaylab.causes.pieces import Cause, Stage
from delaylab.causes.records import (
    IDLE,
    OF_KERNEL,
    CpuRecord,
    CpuWindow,
    How,
    Retransmission,
    Task,
    What,
    by_cpu,
    moved,
    numbered_from,
    part_of,
)
from delaylab.causes.shares import CauseShare
from delaylab.causes.tcp import BOTH, HERE, Connection, Leg, SentAgain, tcp_holds
from delaylab.causes.words import cause, task_name

__all__ = [
    "BOTH",
    "HERE",
    "IDLE",
    "LOST",
    "OF_KERNEL",
    "Cause",
    "CauseShare",
    "Connection",
    "CpuRecord",
    "CpuTime",
    "CpuWindow",
    "Drop",
    "Explained",
    "Hold",
    "How",
    "Leg",
    "Passage",
    "Retransmission",
    "SentAgain",
    "Stage",
    "Task",
    "WatchedPacket",
    "WatchedPart",
    "What",
    "by_cpu",
    "cause",
    "explain",
    "holds_within",
    "last_drops",
    "loss_words",
    "mended",
    "moved",
    "numbered_from",
    "part_of",
    "task_name",
    "tcp_holds",
    "usual_of",
]
