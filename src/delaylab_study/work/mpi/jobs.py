"""Jobs of work of `mpi`: one for each node, of one program that they run together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from delaylab.api.agents import AgentError, ExecDone, Result
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.work import Figure, Latency
from delaylab_study.study_file.work import MpiWork
from delaylab_study.work.folders import WorkFolder, folders
from delaylab_study.work.jobs import Job, JobResult, Started
from delaylab_study.work.mpi import hpcc, latency
from delaylab_study.work.mpi.launch import StartedJob, ended_with, launched

Found = tuple[list[Latency], list[Figure]]
_NS = 1e9


class Benchmark(Protocol):
    """A program of MPI: its command, what it needs on the nodes, and what it found."""

    COMMAND: Sequence[str]

    def put(self, lab: LiveLab, nodes: Sequence[WorkFolder], work: MpiWork, /) -> None:
        """Put what the program needs into the folders of its nodes."""

    def read(self, output: bytes, first: WorkFolder, /) -> Found:
        """Return what the program found; raise AgentError if it is nothing."""


PROGRAMS: dict[str, Benchmark] = {"latency": latency, "hpcc": hpcc}


@contextmanager
def together(lab: LiveLab, work: MpiWork) -> Iterator[list[Job]]:
    """Start an MPI program on the nodes of a work, and provide their jobs, which wait.

    Raises DelaylabError if it does not start.
    """
    with ExitStack() as stack:
        made = stack.enter_context(folders(lab, work.on, work.name))
        own = [made[node] for node in work.on]
        what = PROGRAMS[work.mpi]
        what.put(lab, own, work)
        program = stack.enter_context(launched(lab, own, work.ranks or 1, what.COMMAND))

        def found(output: bytes) -> Found:
            return what.read(output, own[0])

        yield [_job(work, program, node, found) for node in work.on]


def _job(work: MpiWork, program: StartedJob, node: str, read: Callable[[bytes], Found]) -> Job:
    daemon = program.daemons[node]
    first = node == work.on[0]
    return Job(
        node,
        daemon.result.request,
        lambda result: _done(program, result, read if first else None),
        work=work.name,
        deadline_s=work.deadline.seconds,
        started=Started(daemon.session, daemon.result, program.go if first else _nothing),
    )


def _done(
    program: StartedJob, result: Result[ExecDone], read: Callable[[bytes], Found] | None
) -> JobResult:
    """Return what a node did of the program, and what that found if the node is to `read` it."""
    ended = result.done
    if ended.exit != 0:
        how = ended.how if ended.exit is None else ended_with(ended.exit)
        raise AgentError(f"its part of the program, orted, ended with {how}")
    whole = program.ended()
    latencies, figures = read(whole.output) if read is not None else ((), ())
    return JobResult(
        1 / whole.wall_s,
        whole.wall_s,
        (ended.user_ns or 0) / _NS,
        (ended.system_ns or 0) / _NS,
        latencies=tuple(latencies),
        figures=tuple(figures),
        together=True,
    )


def _nothing() -> None:
    """Do nothing: the first node lets all begin."""
