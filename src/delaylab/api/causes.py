"""Causes of late packets: records of what CPUs do, and what they say of a packet's time."""

from __future__ import annotations

from delaylab.causes.biased import BIASED_NS, HostTime, host_time_of
from delaylab.causes.biased import RULE as BIAS_RULE
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
    Task,
    What,
    by_cpu,
    moved,
    numbered_from,
    part_of,
)
from delaylab.causes.shares import CauseShare
from delaylab.causes.tcp import BOTH, HERE, Leg, SentAgain, TcpConnection, tcp_holds
from delaylab.causes.words import cause, task_name

__all__ = [
    "BIASED_NS",
    "BIAS_RULE",
    "BOTH",
    "HERE",
    "IDLE",
    "LOST",
    "OF_KERNEL",
    "Cause",
    "CauseShare",
    "CpuRecord",
    "CpuTime",
    "CpuWindow",
    "Drop",
    "Explained",
    "Hold",
    "HostTime",
    "How",
    "Leg",
    "Passage",
    "SentAgain",
    "Stage",
    "Task",
    "TcpConnection",
    "WatchedPacket",
    "WatchedPart",
    "What",
    "by_cpu",
    "cause",
    "explain",
    "holds_within",
    "host_time_of",
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
