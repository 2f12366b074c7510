"""Jobs of nodes: what a node is asked to do, and what it got done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

from delaylab.api.agents import (
    AgentError,
    ComputeDone,
    Exec,
    ExecDone,
    Frame,
    Request,
    Result,
    Session,
)
from delaylab_study.dataset.records.work import Figure, Latency

_NS = 1e9
LONGEST_LINE = 200


@dataclass(frozen=True)
class JobResult:
    """Work that a node got done, in its own unit: its rate per second, its times, its progress.

    `wall_s` is the time that it took, `user_s` and `system_s` its CPU time, all as the node's own
    kernel says (getrusage(2)). `host_cpu_s` is the CPU time that this machine's kernel says of the
    node's control group meanwhile; None if the node has none. `vcpu_s` is the part of it that the
    virtual CPUs of a machine took; None if the node has none. Each step of `progress` is a time
    since the start, in ns, and the amount done by then; empty for work that shows none. With
    `together` several nodes did one job, whose `wall_s` is by this machine's clock; its
    `latencies` and `figures` are in the first node's.
    """

    rate: float
    wall_s: float
    user_s: float
    system_s: float
    host_cpu_s: float | None = None
    vcpu_s: float | None = None
    progress: tuple[tuple[int, float], ...] = ()
    latencies: tuple[Latency, ...] = ()
    figures: tuple[Figure, ...] = ()
    together: bool = False

    @property
    def own_cpu_s(self) -> float:
        """Return the CPU time as the node's own kernel says, in s."""
        return self.user_s + self.system_s

    @property
    def longest_stop_s(self) -> float | None:
        """Return the longest time without progress, in s; None for work that shows no progress."""
        if not self.progress:
            return None
        times_s = [0.0, *(since_ns / _NS for since_ns, _ in self.progress), self.wall_s]
        return max(after - before for before, after in pairwise(times_s))


Reader = Callable[[Result[Any]], JobResult]
Listener = Callable[[Frame, int], None]
"""A function that gets output of a command as it comes, with the time since the start in ns."""


@dataclass(frozen=True)
class Started:
    """A request that was sent already, and does nothing until it is told by `go`."""

    session: Session
    result: Result[BaseModel]
    go: Callable[[], object]


@dataclass(frozen=True)
class Job:
    """A request to one node that is held until all are ready, and the reader of its answer.

    An endless one goes on until it is stopped. `prepare` is run to its end before. One with
    `started` waits by itself.
    """

    node: str
    request: Request[BaseModel]
    read: Reader
    endless: bool = False
    work: str = ""
    prepare: Exec | None = None
    listen: Listener | None = None
    deadline_s: float = 60.0
    started: Started | None = None


class JobFailed(AgentError):
    """A job that could not begin, died or did not end: which node's, and what it said last.

    `reason` is that without the node.
    """

    def __init__(self, node: str, reason: str, fix: str = "") -> None:
        super().__init__(f"the work of node {node!r} failed: {reason}", fix=fix)
        self.reason = reason


def done_of(
    answer: ExecDone | ComputeDone, rate: float, progress: tuple[tuple[int, float], ...] = ()
) -> JobResult:
    """Return what a node got done at a rate, with the times that its agent's answer has.

    Each step of `progress` has its time in ns since the work began, and how much was done by then.
    """
    return JobResult(
        rate,
        seconds_of(answer),
        (answer.user_ns or 0) / _NS,
        (answer.system_ns or 0) / _NS,
        progress=progress,
    )


def seconds_of(answer: ExecDone | ComputeDone) -> float:
    """Return the time that work took, in s; raise AgentError if it was never begun."""
    if answer.began_ns is None or answer.ended_ns is None or answer.ended_ns <= answer.began_ns:
        raise AgentError("it was stopped before it began")
    return (answer.ended_ns - answer.began_ns) / _NS


def last_line(result: Result[BaseModel]) -> str:
    """Return the last line that a command wrote, to its errors before its output."""
    said = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()
    return said[-1][:LONGEST_LINE] if said else "nothing"
