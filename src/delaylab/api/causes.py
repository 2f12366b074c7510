"""Causes of late packets: records of what CPUs do, and what they say of a packet's time."""

from __future__ import annotations

from delaylab.causes.cpus import CpuTime
from delaylab.causes.explained import Explained, WatchedPacket, explain, usual_of
from delaylab.causes.mended import mended
from delaylab.causes.records import IDLE, CpuRecord, CpuWindow, How, Task, What, by_cpu, part_of
from delaylab.causes.shares import CauseShare
from delaylab.causes.walk import Cause, Stage
from delaylab.causes.words import cause, task_name

__all__ = [
    "IDLE",
    "Cause",
    "CauseShare",
    "CpuRecord",
    "CpuTime",
    "CpuWindow",
    "Explained",
    "How",
    "Stage",
    "Task",
    "WatchedPacket",
    "What",
    "by_cpu",
    "cause",
    "explain",
    "mended",
    "part_of",
    "task_name",
    "usual_of",
]
