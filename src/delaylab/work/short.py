"""Short works that load one part of a machine each, for the time that they are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from delaylab.agent.measuring_replies import Compute as Computed
from delaylab.agent.measuring_requests import Compute
from delaylab.agent.replies import Exit
from delaylab.agent.requests import Exec
from delaylab.agent.result import AgentError, Result
from delaylab.lab.running import Lab
from delaylab.loads.stressors import NO_CACHE, metrics
from delaylab.work.jobs import Done, Job, own_cpu_s
from delaylab.work.tcp import streams

_ENDLESS = 100_000_000
_NS = 1e9


@dataclass(frozen=True)
class Work:
    """A work by name: what it does, and the stressor of stress-ng that does it, if one does."""

    name: str
    does: str
    stressor: tuple[str, ...] = ()


CPU = Work("cpu", "arithmetic in registers")
NETWORK = Work("network", "a TCP stream to the next node")
WORKS = (
    CPU,
    Work("memory", "copies of 2 MiB", ("--memcpy", "1")),
    Work("calls", "system calls: writes to /dev/null", ("--null", "1")),
    Work("processes", "processes made and ended", ("--fork", "1")),
    Work("wake-ups", "two processes that wake each other by a pipe", ("--pipe", "1")),
    NETWORK,
)


@contextmanager
def prepared(lab: Lab, work: Work, nodes: Sequence[str], seconds: int) -> Iterator[list[Job]]:
    """Provide the jobs that do a work on all of these nodes, with all that they need running."""
    if work is NETWORK:
        with streams(lab, nodes, seconds) as jobs:
            yield jobs
    else:
        yield [job(work, node, seconds) for node in nodes]


def job(work: Work, node: str, seconds: int) -> Job:
    """Return the job that does a work on a node by itself for some seconds."""
    if work is CPU:
        return Job(node, Compute(units=_ENDLESS, hold=True), _computed, endless=True)
    lasts = ("--timeout", f"{seconds}s")
    argv = ["stress-ng", *work.stressor, *lasts, *NO_CACHE, "--metrics", "--yaml", "/dev/stdout"]
    return Job(node, Exec(argv=argv, hold=True), _stressed, endless=False)


def _computed(result: Result[Any]) -> Done:
    done: Computed = result.done
    seconds = (done.ended_ns - done.began_ns) / _NS
    if seconds <= 0:
        raise AgentError("it was stopped before it began")
    times = result.table("progress")["time_ns"].to_numpy()
    ends = np.concatenate([[done.began_ns], times, [done.ended_ns]])
    stop_s = float(np.diff(ends).max()) / _NS
    return Done(done.units / seconds, own_cpu_s(done), longest_stop_s=stop_s)


def _stressed(result: Result[Any]) -> Done:
    done: Exit = result.done
    rate = metrics(result.stdout).get("operations_per_s")
    if done.exit != 0 or not rate:
        said = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()
        raise AgentError(f"stress-ng said: {said[-1]}" if said else "stress-ng said nothing")
    return Done(rate, own_cpu_s(done))
