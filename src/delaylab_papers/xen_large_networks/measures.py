"""Jain's index and rates of N nodes at the same work, trial by trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import truediv

import numpy as np

from delaylab_study.papers.toolkit import (
    UNKNOWN,
    Effect,
    Floats,
    Group,
    Work,
    WorkDone,
    domain_shares,
    jain,
    mean_of_few,
    paired,
    pick,
)

LINUX = "linux"
"""Level of factor `kind`: plain processes of one machine, in its own network stack."""
XEN = "xen"
"""Level of factor `kind`: Xen's domains, as the paper has."""
DRIVER = "Domain-0"
"""Xen's driver domain, which has the network's real interfaces and carries all packets."""
CPU, NETWORK, SCP = "count", "stream", "copy"
"""Names of the study's works."""
FEWEST = 2
"""Smallest number of trials whose mean has an interval."""
ByRepeat = dict[int, float]
Quantity = Callable[[WorkDone], float | None]
"""A quantity of what one node got done; None if it is not known."""
SHARES_APART = (-1.0, 1.0)
"""Smallest and largest value of the difference of two shares or of Jain's indices."""


def kinds(groups: Sequence[Group]) -> list[tuple[str, str]]:
    """Return the kinds of nodes and their numbers in a study of this paper; none for any other."""
    of_it = [group.factors for group in groups if {"kind", "n", "work"} <= group.factors.keys()]
    return list(dict.fromkeys((levels["kind"], levels["n"]) for levels in of_it))


def system_of(kind: str) -> str:
    """Return the kind of node of a level of factor `kind`."""
    return "native" if kind == LINUX else kind


def named(kind: str, n: str) -> str:
    """Return the name of a scenario with so many nodes of a kind."""
    return f"{kind}, {n} nodes"


def cpu_time(done: WorkDone) -> float | None:
    """Return the CPU time of a node's work in ns, user and system, as getrusage has it."""
    if done.user_ns is None or done.system_ns is None:
        return None
    return float(done.user_ns + done.system_ns)


def wall_time(done: WorkDone) -> float | None:
    """Return the time that a node's work took, in ns."""
    return None if done.wall_ns is None else float(done.wall_ns)


def work_rate(done: WorkDone) -> float | None:
    """Return the work that a node did per second."""
    return done.rate


def values(
    groups: Sequence[Group], kind: str, n: str, work: str, of: Quantity
) -> dict[int, Floats]:
    """Return a quantity of each node by the repeat of its trial, if all nodes finished."""
    found: dict[int, Floats] = {}
    for group, _ in _works(groups, kind, n, work):
        for trial in group.trials:
            done = [each for each in trial.work if each.work == work]
            known = [value for each in done if (value := of(each)) is not None]
            if len(known) == len(done) > 1 and not any(each.failed for each in done):
                found[trial.block] = np.array(known)
    return found


def jains(groups: Sequence[Group], kind: str, n: str, work: str, of: Quantity) -> ByRepeat:
    """Return Jain's index of a quantity by the repeat of its trial."""
    return {repeat: jain(each) for repeat, each in values(groups, kind, n, work, of).items()}


def deviations(groups: Sequence[Group], kind: str, n: str, work: str, of: Quantity) -> ByRepeat:
    """Return the largest distance of a node's share from the equal one, over the equal one."""
    return {
        repeat: float(np.abs(each / each.mean() - 1).max())
        for repeat, each in values(groups, kind, n, work, of).items()
    }


def totals(groups: Sequence[Group], kind: str, n: str, work: str, of: Quantity) -> ByRepeat:
    """Return the sum of the nodes' quantities by the repeat of their trial."""
    return {repeat: float(each.sum()) for repeat, each in values(groups, kind, n, work, of).items()}


def finished(groups: Sequence[Group], kind: str, n: str, work: str) -> ByRepeat:
    """Return the share of nodes that finished, by the repeat of their trial."""
    return {
        trial.block: float(np.mean([each.failed is None for each in done]))
        for group in pick(groups, kind=kind, n=n)
        for trial in group.trials
        if (done := [each for each in trial.work if each.work == work])
    }


def driver_shares(groups: Sequence[Group], n: str, work: str) -> ByRepeat:
    """Return the driver domain's share of all Xen domains' CPU time, by the repeat of its trial."""
    return {
        trial.block: min(shares[DRIVER] for shares in of_hosts)
        for group, _ in _works(groups, XEN, n, work)
        for trial in group.trials
        if (of_hosts := [each for each in domain_shares(trial).values() if DRIVER in each])
    }


def mean(values: Iterable[float], within: tuple[float, float] = UNKNOWN) -> Effect | None:
    """Return the mean of trials; None if there are too few for an interval.

    `within` is the smallest and the largest value that the quantity can have.
    """
    known = np.array(list(values))
    return mean_of_few(known, within) if len(known) >= FEWEST else None


def mean_ratio(ours: ByRepeat, theirs: ByRepeat) -> Effect | None:
    """Return the mean ratio of trials of the same block; None if there are too few."""
    return mean(paired(ours, theirs, truediv))


def used(groups: Sequence[Group], kind: str, n: str, work: str) -> list[Group]:
    """Return the groups that have this work of this kind and number of nodes."""
    return [group for group, _ in _works(groups, kind, n, work)]


def _works(groups: Sequence[Group], kind: str, n: str, work: str) -> list[tuple[Group, Work]]:
    return [
        (group, found)
        for group in pick(groups, kind=kind, n=n)
        for found in group.works
        if found.name == work and found.nodes
    ]
