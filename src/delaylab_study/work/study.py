"""Work of a study: its jobs at the barrier, and their results as a trial records them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

import polars as pl

from delaylab.api.agents import Compute
from delaylab.api.kinds import HostedNode, NodeSpec
from delaylab.api.lab import Lab
from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab.api.running import LiveLab
from delaylab.api.units import Share
from delaylab_study.dataset.records.tables import PROGRESS
from delaylab_study.dataset.records.work import DomainTime, WorkDone
from delaylab_study.study_file.work import CommandWork, CpuWork, MpiWork, ScpWork, TcpWork, WorkSpec
from delaylab_study.work import command, domains
from delaylab_study.work.arithmetic import computed
from delaylab_study.work.crew import Crew, Worker, ready
from delaylab_study.work.jobs import Job, JobFailed
from delaylab_study.work.mpi.jobs import together
from delaylab_study.work.scp import fetches
from delaylab_study.work.tcp.streams import streams

_NS = 1e9


@contextmanager
def prepared(lab: LiveLab, work: Sequence[WorkSpec]) -> Iterator[Crew]:
    """Make all work of a trial ready, and provide the crew that waits for `go`.

    Raises DelaylabError if the far end of a stream or a file's server does not start.
    """
    jobs: list[Job] = []
    with ExitStack() as stack:
        for each in work:
            jobs += stack.enter_context(_jobs(lab, each, len(jobs))) if each.on else []
        crew = stack.enter_context(ready(lab, jobs))
        crew.domains_s = domains.times_s(lab) if jobs else {}
        yield crew


def records(crew: Crew, work: Sequence[WorkSpec], lab: Lab) -> list[WorkDone]:
    """Return what each node of a lab got done, as a trial records it."""
    units = {each.name: _unit(each) for each in work}
    return [
        _record(worker, units[worker.job.work], crew.began_ns, lab.nodes[worker.job.node])
        for worker in crew.workers
    ]


def domain_times(crew: Crew, lab: LiveLab) -> list[DomainTime]:
    """Return what Xen's domains used since all were ready; call it once all have ended."""
    return domains.used(crew.domains_s, domains.times_s(lab)) if crew.domains_s else []


def progress(crew: Crew) -> pl.DataFrame:
    """Return the progress of all work, as a trial's table."""
    rows = [
        (worker.job.work, worker.job.node, since_ns, amount)
        for worker in crew.workers
        if worker.done is not None
        for since_ns, amount in worker.done.progress
    ]
    return pl.DataFrame(rows, schema=PROGRESS, orient="row")


def doubts(crew: Crew) -> list[Doubt]:
    """Return a doubt for each reason for which work failed, with the nodes whose work did."""
    found: dict[tuple[str, str], list[tuple[str, JobFailed]]] = {}
    for worker in crew.workers:
        if worker.failed is not None:
            key = worker.job.work, worker.failed.reason
            found.setdefault(key, []).append((worker.job.node, worker.failed))
    return [_failed(work, each) for (work, _), each in found.items()]


def _failed(work: str, failures: Sequence[tuple[str, JobFailed]]) -> Doubt:
    nodes = [node for node, _ in failures]
    first = failures[0][1]
    what = first.what
    if len(nodes) > 1:
        what = f"the work of nodes {', '.join(map(repr, nodes))} failed: {first.reason}"
    return doubt(
        DoubtKind.WORK_FAILED,
        what,
        first.fix or "run it by hand: delaylab exec NODE -- COMMAND",
        work=work,
        node=nodes[0],
    )


def _jobs(lab: LiveLab, work: WorkSpec, first: int) -> AbstractContextManager[list[Job]]:
    """Provide the jobs of a work; `first` is the number of jobs before it, for its ports."""
    match work:
        case CpuWork():
            return nullcontext([_arithmetic(work, node) for node in work.on])
        case TcpWork():
            deadline_s = work.deadline.seconds
            name, seconds = work.name, round(work.tcp.seconds)
            return streams(
                lab, work.pairs, seconds, by=work.by, first=first, work=name, deadline_s=deadline_s
            )
        case ScpWork():
            return fetches(lab, work, first=first)
        case MpiWork():
            return together(lab, work)
        case CommandWork():
            return nullcontext([command.job(work, node) for node in work.on])
        case _:
            raise NotImplementedError(work.what)


def _arithmetic(work: CpuWork, node: str) -> Job:
    request = Compute(units=work.cpu, hold=True)
    return Job(node, request, computed, work=work.name, deadline_s=work.deadline.seconds)


def _unit(work: WorkSpec) -> str:
    if isinstance(work, CommandWork) and (work.unit or work.result):
        return work.unit
    return work.rate_unit


def _record(worker: Worker, unit: str, began_ns: int | None, node: NodeSpec) -> WorkDone:
    job, done = worker.job, worker.done
    limit = node.cpu_quota if isinstance(node, HostedNode) else None
    quota = None if limit is None else limit.value / Share.WHOLE
    told = WorkDone(
        work=job.work, node=job.node, kind=node.kind, quota=quota, unit=unit, began_ns=began_ns
    )
    if done is None:
        why = worker.failed.reason if worker.failed is not None else "it was never begun"
        return told.model_copy(update={"failed": why})
    return WorkDone(
        **told.model_dump(include={"work", "node", "kind", "quota", "unit", "began_ns"}),
        rate=done.rate,
        wall_ns=round(done.wall_s * _NS),
        user_ns=round(done.user_s * _NS),
        system_ns=round(done.system_s * _NS),
        host_cpu_ns=None if done.host_cpu_s is None else round(done.host_cpu_s * _NS),
        vcpu_ns=None if done.vcpu_s is None else round(done.vcpu_s * _NS),
        together=done.together,
        latencies=list(done.latencies),
        figures=list(done.figures),
    )
