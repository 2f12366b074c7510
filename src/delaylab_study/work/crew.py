"""Jobs under way: prepared, begun all at once, read while they work, ended by a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pydantic import BaseModel

from delaylab.api.agents import (
    AgentError,
    ExecDone,
    Frame,
    FrameKind,
    Loop,
    NoAnswer,
    Request,
    Result,
    Watched,
)
from delaylab.api.running import LiveLab
from delaylab_study.work.jobs import Job, JobFailed, JobResult, last_line

READY_DEADLINE_S = 20.0
STOP_DEADLINE_S = 20.0


class Worker:
    """One node at its job: `done` or `failed` is set once it has ended."""

    def __init__(self, lab: LiveLab, job: Job) -> None:
        self.job = job
        self.done: JobResult | None = None
        self.failed: JobFailed | None = None
        started = job.started
        self._session = started.session if started else lab.node_session(job.node)
        folders = lab.keeper.agents[lab.agent_name(job.node)].cgroups
        self._group = lab.machine.control_group(folders)
        self._result = started.result if started else Result(job.request)
        self._cpu_before: float | None = None
        self._vcpus_before: float | None = None
        self._began_ns = 0

    def fileno(self) -> int:
        """Return the descriptor that is readable when the node has sent something."""
        return self._session.fileno()

    @property
    def ended(self) -> bool:
        """Return True once the job is done or has failed."""
        return self.done is not None or self.failed is not None

    def close(self) -> None:
        """Close the session; a job that is still under way is ended.

        A job that was started before belongs to the one who started it, who ends it.
        """
        if self.job.started is None:
            self._session.close()

    def start_preparing(self) -> None:
        """Start what is to be done before the job, if it has such a part."""
        prepare = self.job.prepare
        if prepare is not None:
            self._guarded(lambda: self._start(prepare))

    def finish_preparing(self) -> None:
        """Wait until the preparation has ended, for as long as the job's deadline allows."""
        if self.job.prepare is not None:
            self._guarded(self._prepared)

    def start_holding(self) -> None:
        """Have the node make the job ready, and hold it."""
        if self.job.started is None:
            self._guarded(lambda: self._start(self.job.request))

    def finish_holding(self) -> None:
        """Wait until the job is held."""
        if self.job.started is None:
            self._guarded(lambda: self._session.event(READY_DEADLINE_S))

    def go(self) -> None:
        """Let the job begin."""
        # The virtual CPUs' time is part of the group's: it is read last here, and first at the end.
        self._cpu_before, self._vcpus_before = self._group.cpu_s(), self._group.vcpus_s()
        self._began_ns = time.monotonic_ns()
        if self.job.listen is not None:
            self._session.on_output = self._hear
        self._guarded(self.job.started.go if self.job.started else self._session.go)

    def stop(self) -> None:
        """Ask an endless job to end."""
        if self.job.endless:
            self._guarded(self._session.stop)

    def check(self) -> bool:
        """Read what the node has sent, and return True unless the job has ended."""
        self._guarded(self._read)
        return not self.ended

    def give_up(self, seconds: float) -> None:
        """Take a job that has not ended for failed, and end it by `close`."""
        if not self.ended:
            said = last_line(self._result)
            self._fail(f"it did not end within {seconds:g} s; it said last: {said}")
            self.close()

    def _start(self, request: Request[BaseModel]) -> None:
        self._result = self._session.start(request)

    def _prepared(self) -> None:
        try:
            self._session.finish(self.job.deadline_s)
        except NoAnswer:
            what = f"its preparation did not end within {self.job.deadline_s:g} s"
            raise AgentError(what) from None
        if not isinstance(done := self._result.done, ExecDone) or done.exit != 0:
            raise AgentError(f"its preparation failed: {last_line(self._result)}")

    def _read(self) -> None:
        if not self._session.poll_done():
            return
        vcpus, after = self._group.vcpus_s(), self._group.cpu_s()
        self.done = replace(
            self.job.read(self._result),
            host_cpu_s=_since(self._cpu_before, after),
            vcpu_s=_since(self._vcpus_before, vcpus),
        )

    def _hear(self, frame: Frame) -> None:
        """Pass output on, and keep only the latest of it."""
        listen = self.job.listen
        if listen is None:
            return
        if frame.kind == FrameKind.STDOUT:
            self._result.stdout = frame.payload
        else:
            self._result.stderr = frame.payload
        listen(frame, time.monotonic_ns() - self._began_ns)

    def _guarded(self, act: Callable[[], object]) -> None:
        """Do something unless the job has failed; if that fails, the job has."""
        if self.failed is None:
            try:
                act()
            except AgentError as error:
                self._fail(error.what, error.fix)

    def _fail(self, what: str, fix: str = "") -> None:
        self.failed = JobFailed(self.job.node, what, fix)


def _since(before_s: float | None, after_s: float | None) -> float | None:
    return None if before_s is None or after_s is None else after_s - before_s


class Crew:
    """Workers who begin together. `began_ns` is when they did, in ns since 1970, or None.

    `domains_s` is the CPU time of Xen's domains before, by host and name.
    """

    def __init__(self, workers: Sequence[Worker]) -> None:
        self.workers = workers
        self.began_ns: int | None = None
        self.domains_s: dict[tuple[str, str], float] = {}
        self._began_s = 0.0

    def go(self) -> None:
        """Let all begin who are ready."""
        self.began_ns, self._began_s = time.time_ns(), time.monotonic()
        for worker in self.workers:
            worker.go()

    def wait(self, others: Sequence[Watched] = ()) -> None:
        """Wait until every job has ended, or has failed by its deadline.

        Raises at once if one of `others`, such as a load, fails meanwhile.
        """
        for worker in sorted(self.workers, key=lambda each: each.job.deadline_s):
            self._read_until(self._began_s + worker.job.deadline_s, [worker], others)
            worker.give_up(worker.job.deadline_s)

    def stop_after(self, seconds: float) -> None:
        """Let all work for some seconds, then end the endless jobs and wait for all."""
        self._read_until(self._began_s + seconds, self.workers)
        for worker in self.workers:
            worker.stop()
        self._read_until(time.monotonic() + STOP_DEADLINE_S, self.workers)
        for worker in self.workers:
            worker.give_up(seconds + STOP_DEADLINE_S)

    def _read_until(
        self, end_s: float, these: Sequence[Worker], others: Sequence[Watched] = ()
    ) -> None:
        """Read what all send until these have ended, or until a time of the monotonic clock."""
        loop = Loop()
        for each in (*(worker for worker in self.workers if not worker.ended), *others):
            loop.add(each, each.check)
        loop.run(lambda: all(each.ended for each in these), end_s)


@contextmanager
def ready(lab: LiveLab, jobs: Sequence[Job]) -> Iterator[Crew]:
    """Prepare all jobs, and provide the crew that waits for `go`.

    A job whose preparation fails has failed, and the others wait. At the end, jobs that are still
    under way are ended.
    """
    workers: list[Worker] = []
    try:
        for job in jobs:
            workers.append(Worker(lab, job))
        # Each step is started everywhere before it is waited for anywhere.
        for worker in workers:
            worker.start_preparing()
        for worker in workers:
            worker.finish_preparing()
        for worker in workers:
            worker.start_holding()
        for worker in workers:
            worker.finish_holding()
        yield Crew(workers)
    finally:
        for worker in workers:
            worker.close()


def together(lab: LiveLab, jobs: Sequence[Job], seconds: float) -> dict[str, JobResult]:
    """Let all jobs begin at once, and return what each node got done.

    Endless jobs are stopped after `seconds`; the others end by themselves. Raises `JobFailed` for
    the first one that failed.
    """
    with ready(lab, jobs) as crew:
        _raise_first(crew)
        crew.go()
        crew.stop_after(seconds)
        _raise_first(crew)
        return {each.job.node: each.done for each in crew.workers if each.done is not None}


def _raise_first(crew: Crew) -> None:
    for worker in crew.workers:
        if worker.failed is not None:
            raise worker.failed
