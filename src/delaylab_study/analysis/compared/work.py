"""Comparison of work: each node's rate and its share, trial by trial, in two datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from delaylab_study.analysis.compared.blocks import common_blocks
from delaylab_study.analysis.compared.lines import OF_FAIR, ComparedLine, ComparedTrials, line
from delaylab_study.analysis.compared.measured import AT_WORK, ComparedQuantity
from delaylab_study.analysis.compared.side import Side
from delaylab_study.analysis.statistics.effects import UNKNOWN, Effect
from delaylab_study.analysis.statistics.two_runs import among_trials
from delaylab_study.analysis.work import summarised
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study


@dataclass(frozen=True, slots=True)
class Worked:
    """Work of one name: each node's rates and shares of its fair share, by the trial's repeat."""

    unit: str
    rates: dict[str, dict[int, float]] = field(default_factory=dict)
    shares: dict[str, dict[int, float]] = field(default_factory=dict)


def worked(study: Study, trials: Sequence[TrialRecord]) -> dict[str, Worked]:
    """Return the work of trials of the same levels by name, one value for each trial."""
    found: dict[str, Worked] = {}
    for trial in trials if any(trial.work for trial in trials) else ():
        for work in summarised([trial], [study.progress(trial.id)]):
            of = found.setdefault(work.name, Worked(work.unit))
            shares = work.fairness.shares if work.fairness is not None else {}
            for node, done in work.nodes.items():
                of.rates.setdefault(node, {})[trial.block] = done.rate
                if node in shares:
                    of.shares.setdefault(node, {})[trial.block] = shares[node].of_fair.value
    return found


def work_lines(
    pair: ComparedTrials, before: dict[str, Worked], after: dict[str, Worked]
) -> tuple[list[ComparedLine], list[str]]:
    """Return the lines of all work that is alike in both, and why other work is not compared."""
    lines: list[ComparedLine] = []
    unlike: list[str] = []
    for name in dict.fromkeys([*before, *after]):
        why = _why_not(name, before, after, pair.sides)
        if why:
            unlike.append(f"work {name}, because {why}")
        else:
            lines += _lines(pair, name, before[name], after[name])
    return lines, unlike


def _why_not(
    name: str, before: dict[str, Worked], after: dict[str, Worked], sides: tuple[Side, Side]
) -> str:
    if name not in before or name not in after:
        return f"only {sides[name not in before].name} has it"
    ours, theirs = before[name], after[name]
    if ours.unit != theirs.unit:
        units = [
            f"{of.unit or 'none'} {side.at}" for of, side in zip((ours, theirs), sides, strict=True)
        ]
        return f"its unit is {' and '.join(units)}"
    nodes = [", ".join(sorted(side.rates)) or "nobody" for side in (ours, theirs)]
    if nodes[0] != nodes[1]:
        return f"{nodes[0]} finished {sides[0].at}, {nodes[1]} {sides[1].at}"
    if all(len(rates) < 2 for side in (ours, theirs) for rates in side.rates.values()):
        return "one trial on each side does not tell by how much trials differ"
    return ""


def _lines(
    pair: ComparedTrials, name: str, before: Worked, after: Worked
) -> Iterator[ComparedLine]:
    for node in before.rates:
        for what, unit, ours, theirs in (
            (f"work {name} of {node}, rate", before.unit, before.rates, after.rates),
            (f"work {name} of {node}, share", OF_FAIR, before.shares, after.shares),
        ):
            if node in ours and node in theirs:
                part = ComparedQuantity(what, AT_WORK, unit=unit)
                yield _line(pair, part, ours[node], theirs[node])


def _line(
    pair: ComparedTrials, part: ComparedQuantity, before: dict[int, float], after: dict[int, float]
) -> ComparedLine:
    """Return the difference of the means of trials."""
    common = common_blocks(before, after) if pair.in_blocks else []
    ours = np.array([before[repeat] for repeat in common or before])
    theirs = np.array([after[repeat] for repeat in common or after])
    value = float(theirs.mean() - ours.mean())
    half = among_trials(ours, theirs, paired=bool(common))
    # Trials that are all the same, to the last digit, tell as little as one.
    effect = Effect(value, (value - half, value + half) if half else UNKNOWN)
    means = float(ours.mean()), float(theirs.mean())
    return line(pair, part, "mean", means, effect, (len(ours), len(theirs)))
