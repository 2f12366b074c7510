"""Short works that load one part of a machine each, for the time that they are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from delaylab.api.agents import AgentError, Compute, Exec, ExecDone, Result
from delaylab.api.running import LiveLab
from delaylab_study.loads.stressors import NO_CACHE, metrics
from delaylab_study.work.arithmetic import computed
from delaylab_study.work.jobs import Job, JobResult, done_of, last_line
from delaylab_study.work.tcp.streams import streams

_ENDLESS = 100_000_000


@dataclass(frozen=True)
class ShortWork:
    """A work by name: what it does, and the stressor of stress-ng that does it, if one does."""

    name: str
    does: str
    stressor: tuple[str, ...] = ()


CPU = ShortWork("cpu", "arithmetic in registers")
NETWORK = ShortWork("network", "a TCP stream to the next node")
WORKS = (
    CPU,
    ShortWork("memory", "copies of 2 MiB", ("--memcpy", "1")),
    ShortWork("calls", "system calls: writes to /dev/null", ("--null", "1")),
    ShortWork("processes", "processes made and ended", ("--fork", "1")),
    ShortWork("wake-ups", "two processes that wake each other by a pipe", ("--pipe", "1")),
    NETWORK,
)


@contextmanager
def prepared(
    lab: LiveLab, work: ShortWork, nodes: Sequence[str], seconds: int
) -> Iterator[list[Job]]:
    """Provide the jobs that do a work on all of these nodes, with all that they need running."""
    if work is NETWORK:
        pairs = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
        with streams(lab, pairs, seconds) as jobs:
            yield jobs
    else:
        yield [job(work, node, seconds) for node in nodes]


def job(work: ShortWork, node: str, seconds: int) -> Job:
    """Return the job that does a work on a node by itself for some seconds."""
    if work is CPU:
        return Job(node, Compute(units=_ENDLESS, hold=True), computed, endless=True)
    lasts = ("--timeout", f"{seconds}s")
    argv = ["stress-ng", *work.stressor, *lasts, *NO_CACHE, "--metrics", "--yaml", "/dev/stdout"]
    return Job(node, Exec(argv=argv, hold=True), _stressed)


def _stressed(result: Result[ExecDone]) -> JobResult:
    rate = metrics(result.stdout).get("operations_per_s")
    if result.done.exit != 0 or not rate:
        raise AgentError(f"stress-ng said: {last_line(result)}")
    return done_of(result.done, rate)
