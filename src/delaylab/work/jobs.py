"""Jobs of nodes that begin together, for the same time, and how much each got done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from delaylab.agent.measuring_replies import Compute
from delaylab.agent.replies import Exit
from delaylab.agent.requests import Request
from delaylab.agent.result import AgentError, Result
from delaylab.agent.session import Session
from delaylab.lab.running import Lab
from delaylab.machine.cpu_time import used_s

READY_DEADLINE_S = 20
STOP_DEADLINE_S = 20
Reader = Callable[[Result[Any]], "Done"]


@dataclass(frozen=True)
class Done:
    """Work that a node got done: `rate` in the work's own unit per second, and its CPU time.

    `own_cpu_s` is what the node's own kernel says (getrusage(2)), `host_cpu_s` what this machine's
    kernel says of the node's control group, from the start until all have ended; None if the node
    has none. `longest_stop_s` is the longest time without progress; None for work that shows none.
    """

    rate: float
    own_cpu_s: float
    host_cpu_s: float | None = None
    longest_stop_s: float | None = None


def own_cpu_s(done: Exit | Compute) -> float:
    """Return the CPU time of work that has ended, as the node's own kernel says, in s."""
    return ((done.user_ns or 0) + (done.system_ns or 0)) / 1e9


@dataclass(frozen=True)
class Job:
    """A request to one node that is held until all are ready, and the reader of its answer.

    An endless one goes on until it is stopped.
    """

    node: str
    request: Request[Any]
    read: Reader
    endless: bool


class JobFailed(AgentError):
    """A job that could not begin, died or did not end: which node's, and what it said last."""


def together(lab: Lab, jobs: Sequence[Job], seconds: float) -> dict[str, Done]:
    """Let all jobs begin at once, and return what each node got done.

    Endless jobs are stopped after `seconds`; the others end by themselves. Raises `JobFailed` for
    the first one that failed; then all are stopped.
    """
    sessions = [lab.node_session(job.node) for job in jobs]
    try:
        with ThreadPoolExecutor(max(1, len(jobs))) as pool:
            list(pool.map(_prepare, sessions, jobs))
            before = [_host_cpu_s(lab, job.node) for job in jobs]
            for session in sessions:
                session.go()
            time.sleep(seconds)  # the work lasts as long
            for session, job in zip(sessions, jobs, strict=True):
                if job.endless:
                    session.stop()
            done = list(pool.map(_end, sessions, jobs))
            after = [_host_cpu_s(lab, job.node) for job in jobs]
    finally:
        for session in sessions:
            session.close()
    used = [None if a is None or b is None else b - a for a, b in zip(before, after, strict=True)]
    return {
        job.node: replace(each, host_cpu_s=cpu_s)
        for job, each, cpu_s in zip(jobs, done, used, strict=True)
    }


def _host_cpu_s(lab: Lab, node: str) -> float | None:
    return used_s(lab.keeper.agents[lab.agent_name(node)].cgroups)


def _prepare(session: Session, job: Job) -> None:
    session.start(job.request)
    try:
        session.event(READY_DEADLINE_S)
    except AgentError as error:
        raise _failed(job, error) from None


def _end(session: Session, job: Job) -> Done:
    try:
        return job.read(session.finish(STOP_DEADLINE_S))
    except AgentError as error:
        raise _failed(job, error) from None


def _failed(job: Job, error: AgentError) -> JobFailed:
    return JobFailed(f"the work of node {job.node!r} failed: {error.what}", fix=error.fix)
