"""Comparison of work: each node's rate and its share, trial by trial, in two datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from delaylab.analysis.compared.lines import OF_FAIR, Line, Pair, line
from delaylab.analysis.compared.measured import AT_WORK, Part
from delaylab.analysis.statistics.effects import UNKNOWN, Effect
from delaylab.analysis.statistics.runs import Floats
from delaylab.analysis.statistics.student import distance, error_of_difference
from delaylab.analysis.statistics.two_runs import CERTAIN
from delaylab.analysis.work import summarised
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.store import Study


@dataclass(frozen=True, slots=True)
class Worked:
    """Work of one name, in some trials: each node's rates and shares of its fair share."""

    unit: str
    rates: dict[str, list[float]] = field(default_factory=dict)
    shares: dict[str, list[float]] = field(default_factory=dict)


def worked(study: Study, trials: Sequence[TrialRecord]) -> dict[str, Worked]:
    """Return the work of trials of the same levels by name, one value for each trial."""
    found: dict[str, Worked] = {}
    for trial in trials if any(trial.work for trial in trials) else ():
        for work in summarised([trial], [study.progress(trial.id)]):
            of = found.setdefault(work.name, Worked(work.unit))
            shares = work.fairness.shares if work.fairness is not None else {}
            for node, done in work.nodes.items():
                of.rates.setdefault(node, []).append(done.rate)
                if node in shares:
                    of.shares.setdefault(node, []).append(shares[node].of_fair.value)
    return found


def work_lines(
    pair: Pair, before: dict[str, Worked], after: dict[str, Worked]
) -> tuple[list[Line], list[str]]:
    """Return the lines of all work that is alike in both, and why other work is not compared."""
    lines: list[Line] = []
    unlike: list[str] = []
    for name in dict.fromkeys([*before, *after]):
        why = _why_not(name, before, after)
        if why:
            unlike.append(f"work {name}, because {why}")
        else:
            lines += _lines(pair, name, before[name], after[name])
    return lines, unlike


def _why_not(name: str, before: dict[str, Worked], after: dict[str, Worked]) -> str:
    if name not in before or name not in after:
        return f"only {'before' if name in before else 'after'} has it"
    ours, theirs = before[name], after[name]
    if ours.unit != theirs.unit:
        return f"its unit is {ours.unit or 'none'} before and {theirs.unit or 'none'} after"
    nodes = [", ".join(sorted(side.rates)) or "nobody" for side in (ours, theirs)]
    if nodes[0] != nodes[1]:
        return f"{nodes[0]} finished before, {nodes[1]} after"
    if all(len(rates) < 2 for side in (ours, theirs) for rates in side.rates.values()):
        return "one trial on each side does not tell by how much trials differ"
    return ""


def _lines(pair: Pair, name: str, before: Worked, after: Worked) -> Iterator[Line]:
    for node in before.rates:
        for what, unit, ours, theirs in (
            (f"work {name} of {node}, rate", before.unit, before.rates, after.rates),
            (f"work {name} of {node}, share", OF_FAIR, before.shares, after.shares),
        ):
            if node in ours and node in theirs:
                part = Part(what, AT_WORK, unit=unit)
                yield _line(pair, part, np.array(ours[node]), np.array(theirs[node]))


def _line(pair: Pair, part: Part, before: Floats, after: Floats) -> Line:
    """Return the difference of the means of trials, with Welch's interval."""
    value = float(after.mean() - before.mean())
    error, freedom = error_of_difference(after, before)
    half = distance(freedom, CERTAIN) * error
    # Trials that are all the same, to the last digit, tell as little as one.
    effect = Effect(value, (value - half, value + half) if error else UNKNOWN)
    means = float(before.mean()), float(after.mean())
    return line(pair, part, "mean", means, effect, (len(before), len(after)))
