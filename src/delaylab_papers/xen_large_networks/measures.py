"""Jain's index and rates of N nodes at the same work, trial by trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import truediv

import numpy as np

from delaylab_study.papers.toolkit import (
    UNKNOWN,
    Effect,
    Group,
    Work,
    domain_shares,
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
SHARES_APART = (-1.0, 1.0)
"""Smallest and largest value of the difference of two shares or of Jain's indices."""


def kinds(groups: Sequence[Group]) -> list[tuple[str, str]]:
    """Return the kinds of nodes and their numbers in a study of this paper; none for any other."""
    of_it = [group.factors for group in groups if {"kind", "n", "work"} <= group.factors.keys()]
    return list(dict.fromkeys((levels["kind"], levels["n"]) for levels in of_it))


def named(kind: str, n: str) -> str:
    """Return the name of a scenario with so many nodes of a kind."""
    return f"{kind}, {n} nodes"


def jains(groups: Sequence[Group], kind: str, n: str, work: str) -> ByRepeat:
    """Return Jain's index of a work by the repeat of its trial."""
    return {
        trial.repeat: index
        for group, found in _works(groups, kind, n, work)
        if found.fairness is not None
        for trial, index in zip(group.trials, found.fairness.jain_of_rounds, strict=True)
    }


def totals(groups: Sequence[Group], kind: str, n: str, work: str) -> ByRepeat:
    """Return the sum of the nodes' rates by the repeat of their trial, if all nodes finished."""
    return {
        trial.repeat: sum(done.rate or 0.0 for done in trial.work if done.work == work)
        for group, found in _works(groups, kind, n, work)
        for trial in group.trials
        if not any(done.failed for done in trial.work if done.work == work)
    }


def driver_shares(groups: Sequence[Group], n: str, work: str) -> ByRepeat:
    """Return the driver domain's share of all Xen domains' CPU time, by the repeat of its trial."""
    return {
        trial.repeat: min(shares[DRIVER] for shares in of_hosts)
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
