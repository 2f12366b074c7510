"""Run times of MPI programs and times of their messages, trial by trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from delaylab_study.papers.toolkit import Group, Latency, WorkDone, pick

from .measures import LINUX, ByRepeat

REAL = "real"
"""Level of factor `kind`: each node is a computer of its own. Hosts of a lab can be such
machines; no study brings them."""
SOLVE, NEAR, ACROSS = "solve", "near", "across"
"""Names of the study's works of MPI."""
OPERATIONS = ("round-trip", "exchange")
"""Operations on messages: MPI_Send with MPI_Recv, and MPI_Sendrecv."""
LEAST_ORDER = 3000
"""Number of equations from which on a solver mostly computes, as the paper's NAS benchmarks do.

The 2/3 n³ operations of fewer take less time than the messages that they need: of 500, some 10 ms.
"""
_NS = 1e9
_Size = tuple[str, int]
"""An operation, and the size of its messages in bytes."""


def run_times_s(groups: Sequence[Group], kind: str, n: str) -> ByRepeat:
    """Return the run time of the MPI program, in seconds, by the repeat of its trial."""
    return {
        repeat: (done[0].wall_ns or 0) / _NS for repeat, done in _finished(groups, kind, n, SOLVE)
    }


def solving_times_s(groups: Sequence[Group], kind: str, n: str) -> ByRepeat:
    """Return the time that hpcc's solver took, in seconds, by the repeat of its trial.

    Trials with fewer than `LEAST_ORDER` equations are left out. The time is that of 2/3 n³
    operations at the rate that the solver found.
    """
    found: ByRepeat = {}
    for repeat, done in _finished(groups, kind, n, SOLVE):
        figures = {each.name: each.value for node in done for each in node.figures}
        order, rate = figures.get("linpack-order", 0), figures.get("linpack", 0)
        if order >= LEAST_ORDER and rate:
            found[repeat] = 2 / 3 * order**3 / rate
    return found


def near_over_across(groups: Sequence[Group], kind: str, n: str, operation: str) -> ByRepeat:
    """Return the time of a message between nodes of one host, over that across the wire.

    It is the geometric mean of the ratios of all sizes, of medians in the same block. Messages that
    cross the wire are those of plain processes.
    """
    near, across = _messages(groups, kind, n, NEAR), _messages(groups, LINUX, n, ACROSS)
    return {
        repeat: _mean_ratio(near[repeat], across[repeat], operation)
        for repeat in sorted(near.keys() & across.keys())
    }


def smallest_ns(groups: Sequence[Group], kind: str, n: str, work: str) -> ByRepeat:
    """Return the median round trip of the smallest message, in ns, by the repeat of its trial."""
    return {
        repeat: min((size, time_ns) for (_, size), time_ns in trips.items())[1]
        for repeat, times in _messages(groups, kind, n, work).items()
        if (trips := {key: value for key, value in times.items() if key[0] == OPERATIONS[0]})
    }


def of_work(groups: Sequence[Group], kind: str, n: str, work: str) -> list[Group]:
    """Return the groups of a kind and a number of nodes that have a work of MPI."""
    return [
        group
        for group in pick(groups, kind=kind, n=n)
        if any(found.name == work for found in group.works)
    ]


def _finished(
    groups: Sequence[Group], kind: str, n: str, work: str
) -> Iterator[tuple[int, list[WorkDone]]]:
    """Yield the work of each trial in which no node failed, with its repeat."""
    for group in of_work(groups, kind, n, work):
        for trial in group.trials:
            done = [each for each in trial.work if each.work == work]
            if done and not any(each.failed for each in done):
                yield trial.repeat, done


def _messages(
    groups: Sequence[Group], kind: str, n: str, work: str
) -> dict[int, dict[_Size, float]]:
    """Return the median times of messages, in ns, by the repeat of their trial."""
    return {
        repeat: {_size(each): each.median_ns for node in done for each in node.latencies}
        for repeat, done in _finished(groups, kind, n, work)
    }


def _size(latency: Latency) -> _Size:
    return latency.operation, latency.size_bytes


def _mean_ratio(ours: dict[_Size, float], theirs: dict[_Size, float], operation: str) -> float:
    both = [key for key in ours if key in theirs and key[0] == operation]
    return float(np.exp(np.mean([np.log(ours[key] / theirs[key]) for key in both])))
