"""Work of a study with a factor over the number of nodes, as series of run times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from delaylab_study.analysis.claims.doubted import ClaimDoubt, doubts_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.scaling.law import Scaling, scaling
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.work import WorkDone

STREAM = "bit/s"
"""Unit of the rate of a stream, which lasts as long as it was asked to."""
WHOLE, PER_GBIT = "time until all nodes were done", "time of a node for each Gbit"
# What a level may change of a work without another amount for each node.
OF_NODES = frozenset({"on", "to", "deadline"})
_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledWork:
    """The run times of one work over the number of its nodes, at the same levels of other factors.

    `of` is what the times are of. `quotas` are the CPU quotas of the nodes at work, in CPUs; a node
    without one has none here. `left_out` counts the trials of blocks in which a number of nodes is
    missing. `doubts` say that something else than the number of nodes made trials differ.
    """

    work: str
    factor: str
    levels: dict[str, str]
    of: str
    quotas: tuple[float, ...]
    left_out: int
    scaling: Scaling
    doubts: tuple[ClaimDoubt, ...] = ()

    @property
    def label(self) -> str:
        """Return the levels of the other factors, joined for a reader; "" if there are none."""
        return ", ".join(f"{factor}={level}" for factor, level in self.levels.items())


def scaled_work(groups: Sequence[Group], study: StudyRecord) -> list[ScaledWork]:
    """Return the series of a study.

    A factor is over the number of nodes if, with all other levels alike, each of its levels has
    another number of nodes at this work, of the same kinds. How many there were is in the trials,
    whatever the levels are called.
    """
    names = dict.fromkeys(each.work for g in groups for trial in g.trials for each in trial.work)
    factors = groups[0].factors if groups else {}
    return [
        found
        for name in names
        for factor in factors
        if not _changes_amount(study, factor, name)
        for alike in _alike(groups, factor)
        if (found := _series(name, factor, alike)) is not None
    ]


def _alike(groups: Sequence[Group], factor: str) -> Iterator[list[Group]]:
    """Yield the groups whose levels of all other factors are the same."""
    together: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        others = tuple(level for name, level in group.factors.items() if name != factor)
        together.setdefault(others, []).append(group)
    yield from together.values()


def _series(work: str, factor: str, groups: Sequence[Group]) -> ScaledWork | None:
    counted = {group.label: _nodes(work, group.trials) for group in groups}
    counts = [count for count in counted.values() if count]
    if len(counts) < 2 or len(set(counts)) < len(counts):
        return None
    some = [group for group in groups if counted[group.label]]
    if len({_kinds(work, group.trials) for group in some}) > 1:
        return None
    some.sort(key=lambda group: counted[group.label] or 0)
    jobs = [job for g in some for trial in g.trials for job in trial.work if job.work == work]
    times = [{t.block: _time_s(work, t) for t in group.trials} for group in some]
    blocks = [
        [of_block for each in times if (of_block := each.get(repeat)) is not None]
        for repeat in sorted({repeat for each in times for repeat in each})
    ]
    whole = [block for block in blocks if len(block) == len(some)]
    if not whole:
        return None
    return ScaledWork(
        work=work,
        factor=factor,
        levels={name: level for name, level in some[0].factors.items() if name != factor},
        of=PER_GBIT if jobs[0].unit == STREAM else WHOLE,
        quotas=tuple(sorted({job.quota for job in jobs if job.quota is not None})),
        left_out=sum(len(group.trials) for group in some) - len(whole) * len(some),
        scaling=scaling([counted[group.label] or 0 for group in some], np.array(whole)),
        doubts=tuple(each for each in doubts_of(some) if each.undermines),
    )


def _nodes(work: str, trials: Sequence[TrialRecord]) -> int | None:
    """Return the number of nodes at a work; None if trials of the same levels differ in it."""
    counts = {sum(each.work == work for each in trial.work) for trial in trials}
    return counts.pop() if len(counts) == 1 else None


def _kinds(work: str, trials: Sequence[TrialRecord]) -> frozenset[str | None]:
    """Return the kinds of the nodes at a work."""
    return frozenset(each.kind for trial in trials for each in trial.work if each.work == work)


def _time_s(work: str, trial: TrialRecord) -> float | None:
    """Return how long a trial's work took, in s; None if a node failed, or took no time."""
    done = [each for each in trial.work if each.work == work]
    found = [_of_node(each) for each in done]
    known = [time_s for time_s in found if time_s]
    if not done or len(known) < len(done):
        return None
    return float(np.mean(known)) if done[0].unit == STREAM else max(known)


def _of_node(done: WorkDone) -> float | None:
    """Return a node's time in s, or that of a Gbit of its stream; None if it failed."""
    if done.failed is not None or not done.rate or done.rate < 0 or not done.wall_ns:
        return None
    return 1e9 / done.rate if done.unit == STREAM else done.wall_ns / _NS


def _changes_amount(study: StudyRecord, factor: str, work: str) -> bool:
    """Return True if a level of a factor changes what a node has to do, by the study's file."""
    scale = _mapping(_mapping(study.spec.get("scales")).get(study.scale))
    levels = [
        *_mapping(_mapping(study.spec.get("factors")).get(factor)).values(),
        *(content for path, content in scale.items() if path.startswith(f"factors.{factor}.")),
    ]
    changed = [path.split(".") for level in levels for path in _mapping(level)]
    return any(steps[:2] == ["work", work] and steps[-1] not in OF_NODES for steps in changed)


def _mapping(value: object) -> dict[str, object]:
    """Return a part of a study's file by name; nothing if it is of another form."""
    return {str(key): part for key, part in value.items()} if isinstance(value, dict) else {}
