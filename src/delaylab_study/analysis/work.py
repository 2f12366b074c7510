"""Work of the nodes of a group of trials: shares while all worked, times, and how it went on.

The nodes of a trial begin together. The one that is done first leaves its CPU time to the others,
which are faster from then on. So where progress is known, shares are those at the time when the
first node was done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from delaylab_study.analysis.fairness import Fairness, Got, fairness
from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.dataset.records.tables import PROGRESS
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.work import Latency, WorkDone
from delaylab_study.dataset.store import Study

SETTLED = 0.05
"""Largest distance of all shares from fair ones, from the time on when they are called settled."""
MOMENT_S = 0.05
"""Time between two moments at which progress is looked at, about; a quota's period has two."""
FEWEST_MOMENTS, MOST_MOMENTS = 20, 2000
_NS = 1e9


@dataclass(frozen=True, slots=True)
class WorkCourse:
    """Progress of the nodes of one trial while all worked.

    `times_s` are equally spaced moments since the start, which was at `began_ns` by the machine's
    clock. `done` has a node's amount at each of them, in the unit of its rate times seconds.
    """

    trial: str
    began_ns: int
    times_s: Floats
    done: dict[str, Floats]

    @property
    def settled_s(self) -> float | None:
        """Return when all shares had come within `SETTLED` of fair for good; None if never."""
        shares = _relative(np.array(list(self.done.values())))
        far = np.asarray((np.abs(shares - 1) > SETTLED).any(axis=0))
        if far[-1]:
            return None
        last = int(np.flatnonzero(far)[-1]) + 1 if far.any() else 0
        return float(self.times_s[last])

    def shares(self, node: str) -> Floats:
        """Return a node's share of its fair share between each moment and the one before it."""
        amounts = np.array(list(self.done.values()))
        shares: Floats = _relative(np.diff(amounts, axis=1, prepend=0.0))
        return np.asarray(shares[list(self.done).index(node)])


def _relative(amounts: Floats) -> Floats:
    """Return amounts over the mean of all nodes, given in rows; 1 where nobody did anything."""
    means = amounts.mean(axis=0)
    shares: Floats = np.divide(amounts, means, out=np.ones_like(amounts), where=means > 0)
    return shares


@dataclass(frozen=True, slots=True)
class NodeWork:
    """Work of one node: means over the trials, and the longest time without progress of all.

    `user_s` and `system_s` are what the node's own kernel says, `host_cpu_s` what this machine's
    kernel says of its control group, and `vcpu_s` the part of it that virtual CPUs took; None where
    it has none. `longest_stop_s` is None for work that
    shows no progress.
    """

    rate: float
    wall_s: float
    user_s: float
    system_s: float
    host_cpu_s: float | None
    vcpu_s: float | None
    longest_stop_s: float | None


@dataclass(frozen=True, slots=True)
class MessageTime:
    """The time of one operation of MPI at one size of messages, over the trials.

    `median_ns` is the median of their medians, `least_ns` the least of all.
    """

    operation: str
    size_bytes: int
    median_ns: float
    least_ns: float


@dataclass(frozen=True, slots=True)
class FoundFigure:
    """A figure that a program of MPI found: the mean over the trials, in its unit."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work of a group of trials by node; `failed` has the reason of each node that failed in one.

    `fairness` is None if fewer than two nodes finished. `settled_s` is the longest time of all
    trials until shares settled; None if they did not in one, or if progress is not known.
    `courses` has the trials whose progress is known. With `together` the nodes did one job, so that
    there is no fairness among them; `messages` and `figures` are what that found.
    """

    name: str
    unit: str
    nodes: dict[str, NodeWork]
    failed: dict[str, str]
    fairness: Fairness | None
    settled_s: float | None
    courses: list[WorkCourse]
    together: bool
    messages: list[MessageTime]
    figures: list[FoundFigure]


def work_of(study: Study, trials: Sequence[TrialRecord]) -> list[Work]:
    """Return the work of trials of the same levels, in the order of the study file."""
    some = any(trial.work for trial in trials)
    return summarised(trials, [study.progress(trial.id) for trial in trials] if some else [])


def summarised(trials: Sequence[TrialRecord], progress: Sequence[pl.DataFrame]) -> list[Work]:
    """Return the work of trials, with the table of progress of each, or without any."""
    names = dict.fromkeys(each.work for trial in trials for each in trial.work)
    if not names:
        return []
    tables = list(progress) or [pl.DataFrame(schema=PROGRESS)] * len(trials)
    return [_work(name, trials, tables) for name in names]


def _work(name: str, trials: Sequence[TrialRecord], progress: Sequence[pl.DataFrame]) -> Work:
    of_trials = [{each.node: each for each in trial.work if each.work == name} for trial in trials]
    failed = {
        node: each.failed
        for done in of_trials
        for node, each in done.items()
        if each.failed is not None
    }
    finished = [node for node in of_trials[0] if all(_has_rate(each, node) for each in of_trials)]
    found = [
        (done, _course(trial.id, rows.filter(pl.col("work") == name), done, finished))
        if len(rows)
        else (done, None)
        for trial, done, rows in zip(trials, of_trials, progress, strict=True)
    ]
    courses = [course for _, course in found if course is not None]
    settled = [course.settled_s for course in courses]
    together = any(each.together for done in of_trials for each in done.values())
    whole = [each for done in of_trials for each in done.values() if each.failed is None]
    known = [time_s for time_s in settled if time_s is not None]
    return Work(
        name=name,
        unit=next(iter(of_trials[0].values())).unit if of_trials[0] else "",
        nodes={
            node: _node([each[node] for each in of_trials], progress, name) for node in finished
        },
        failed=failed,
        fairness=None if together else _fairness(found, finished),
        settled_s=max(known) if courses and len(known) == len(trials) else None,
        courses=courses,
        together=together,
        messages=_messages(whole),
        figures=_figures(whole),
    )


def _messages(done: Sequence[WorkDone]) -> list[MessageTime]:
    """Return the times of messages that nodes recorded, in the order of their first appearance."""
    found: dict[tuple[str, int], list[Latency]] = {}
    for each in done:
        for latency in each.latencies:
            found.setdefault((latency.operation, latency.size_bytes), []).append(latency)
    return [
        MessageTime(
            operation,
            size_bytes,
            float(np.median([each.median_ns for each in times])),
            min(each.least_ns for each in times),
        )
        for (operation, size_bytes), times in found.items()
    ]


def _figures(done: Sequence[WorkDone]) -> list[FoundFigure]:
    found: dict[tuple[str, str], list[float]] = {}
    for each in done:
        for figure in each.figures:
            found.setdefault((figure.name, figure.unit), []).append(figure.value)
    return [
        FoundFigure(name, float(np.mean(values)), unit) for (name, unit), values in found.items()
    ]


def _has_rate(done: Mapping[str, WorkDone], node: str) -> bool:
    return node in done and bool(done[node].rate) and bool(done[node].wall_ns)


def _fairness(
    trials: Sequence[tuple[Mapping[str, WorkDone], WorkCourse | None]], nodes: Sequence[str]
) -> Fairness | None:
    if len(nodes) < 2:
        return None
    return fairness([{node: _got(done[node], course) for node in nodes} for done, course in trials])


def _got(done: WorkDone, course: WorkCourse | None) -> Got:
    """Return what a node got while all worked, as far as that is known; else until it was done."""
    wall_s = (done.wall_ns or 0) / _NS
    cpu_ns = done.host_cpu_ns
    if cpu_ns is None:
        cpu_ns = (done.user_ns or 0) + (done.system_ns or 0)
    rate = done.rate or 0.0
    if course is not None:
        rate = float(course.done[done.node][-1] / course.times_s[-1])
    return Got(rate, cpu_ns / _NS / wall_s)


def _course(
    trial: str, rows: pl.DataFrame, done: Mapping[str, WorkDone], nodes: Sequence[str]
) -> WorkCourse | None:
    """Return how the work went on until the first node was done; None if one shows no progress."""
    seen = {node: _steps(rows, node) for node in nodes}
    if not nodes or not all(len(times_ns) > 1 for times_ns, _ in seen.values()):
        return None
    end_ns = min(done[node].wall_ns or 0 for node in nodes)
    count = min(MOST_MOMENTS, max(FEWEST_MOMENTS, round(end_ns / _NS / MOMENT_S)))
    at_ns = np.linspace(end_ns / count, end_ns, count)
    return WorkCourse(
        trial,
        done[nodes[0]].began_ns or 0,
        at_ns / _NS,
        {node: np.interp(at_ns, *steps) for node, steps in seen.items()},
    )


def _steps(rows: pl.DataFrame, node: str) -> tuple[Floats, Floats]:
    """Return a node's times since the start, in ns, and the amounts done by then, from 0 on."""
    own = rows.filter(pl.col("node") == node).sort("since_ns")
    times_ns = own["since_ns"].cast(pl.Float64).to_numpy()
    return np.concatenate([[0.0], times_ns]), np.concatenate([[0.0], own["done"].to_numpy()])


def _node(done: Sequence[WorkDone], progress: Sequence[pl.DataFrame], name: str) -> NodeWork:
    stops = [
        float(np.diff([*_steps(rows, each.node)[0], float(each.wall_ns or 0)]).max())
        for each, rows in (
            (each, table.filter((pl.col("work") == name) & (pl.col("node") == each.node)))
            for each, table in zip(done, progress, strict=True)
            if len(table)
        )
        if len(rows)
    ]
    return NodeWork(
        rate=float(np.mean([each.rate or 0.0 for each in done])),
        wall_s=_mean_s([each.wall_ns for each in done]),
        user_s=_mean_s([each.user_ns for each in done]),
        system_s=_mean_s([each.system_ns for each in done]),
        host_cpu_s=_mean_if_known_s([each.host_cpu_ns for each in done]),
        vcpu_s=_mean_if_known_s([each.vcpu_ns for each in done]),
        longest_stop_s=max(stops) / _NS if stops else None,
    )


def _mean_s(times_ns: Sequence[int | None]) -> float:
    return float(np.mean([each or 0 for each in times_ns])) / _NS


def _mean_if_known_s(times_ns: Sequence[int | None]) -> float | None:
    return None if None in times_ns else _mean_s(times_ns)
