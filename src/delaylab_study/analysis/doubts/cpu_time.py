"""CPU time of nodes at work: what their own kernels say beside what this machine's kernel says.

A node's own kernel accounts to its job what it took (getrusage). This machine's kernel accounts to
the node's control group what all of the node took. Where both are one kernel the two agree, apart
from what else the node did. A guest's own kernel cannot see when it had no CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from delaylab.api.kinds import facts_of
from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.work import WorkDone

APART = 0.10
"""Largest difference of the two CPU times that counts as agreement, in relation to getrusage."""
LEAST_S = 0.05
"""Smallest difference that is told, in s: agents take some of it, whatever the job."""
_NS = 1e9


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """CPU times of a node in one work, in s, means over the trials that know both.

    `kind` is the node's kind, None if the records do not say it. `alone` is True if the node had
    nothing else to do: no load, no other work, and no packets of a probe.
    """

    work: str
    node: str
    kind: str | None
    own_s: float
    host_s: float
    alone: bool

    @property
    def differ(self) -> float:
        """Return the difference, cgroup − getrusage, in relation to getrusage."""
        return self.host_s / self.own_s - 1

    @property
    def agree(self) -> bool:
        """Return True if the two agree within `APART`, or within `LEAST_S`."""
        return abs(self.host_s - self.own_s) <= max(APART * self.own_s, LEAST_S)

    @property
    def expected(self) -> bool:
        """Return True if the two agree, or if all else that the node had to do is between them."""
        return self.agree or (self.host_s > self.own_s and not self.alone)

    @property
    def why(self) -> str:
        """Return the known reason why the two may differ this way."""
        more, machine = self.host_s > self.own_s, facts_of(self.kind).virtual_machine
        if more and machine:
            return "its cgroup also has the threads of its hypervisor, and all else that it did"
        if more:
            return "its cgroup also has all else that ran in the node, such as its agent"
        if machine:
            return (
                "the guest's own kernel does not see when it had no CPU, and counts that time, too"
            )
        return "no reason is known: one kernel accounts for both"


def cpu_times(trials: Sequence[TrialRecord]) -> list[CpuTimes]:
    """Return the pairs of CPU times that are known, one for each work of each node."""
    together: dict[tuple[str, str], list[WorkDone]] = {}
    for trial in trials:
        for done in trial.work:
            if done.host_cpu_ns is not None and _own_ns(done):
                together.setdefault((done.work, done.node), []).append(done)
    return [
        CpuTimes(
            work,
            node,
            found[0].kind,
            sum(map(_own_ns, found)) / len(found) / _NS,
            sum(done.host_cpu_ns or 0 for done in found) / len(found) / _NS,
            not any(_has_else(trial, work, node) for trial in trials),
        )
        for (work, node), found in together.items()
    ]


def _has_else(trial: TrialRecord, work: str, node: str) -> bool:
    """Return True if a node has more to do in a trial than its part of a work."""
    ends = [end.node for end in (trial.sender, trial.responder) if end is not None]
    others = [each.node for each in trial.work if each.work != work]
    loaded = [name for load in trial.loads for name in (load.on, load.to)]
    return node in (*ends, *others, *loaded)


def cpu_time_doubts(trials: Sequence[TrialRecord]) -> Iterator[Doubt]:
    """Yield a doubt for each node whose two CPU times differ by more than what it did besides."""
    for found in cpu_times(trials):
        if not found.expected:
            kind = f" ({found.kind})" if found.kind else ""
            yield doubt(
                DoubtKind.CPU_TIMES_DIFFER,
                f"{found.work} on {found.node}{kind}: CPU time is {found.own_s:.2f} s by getrusage "
                f"and {found.host_s:.2f} s by cgroup, and differs by {100 * abs(found.differ):.0f} "
                f"%: {found.why}",
                "take the cgroup's CPU time for what the node cost, and rates for what it got",
                work=found.work,
                node=found.node,
                own_s=found.own_s,
                host_s=found.host_s,
            )


def _own_ns(done: WorkDone) -> int:
    return (done.user_ns or 0) + (done.system_ns or 0)
