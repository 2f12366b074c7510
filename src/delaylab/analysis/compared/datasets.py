"""Comparison of two datasets, only where the levels of the factors that both have are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from delaylab.analysis.claims.claim import ENOUGH
from delaylab.analysis.claims.doubted import ClaimDoubt, doubts_of
from delaylab.analysis.compared.circumstances import Difference, circumstances
from delaylab.analysis.compared.measured import ROUND_TRIP, Measured, Part, measured
from delaylab.analysis.group import Group, groups
from delaylab.analysis.statistics.effects import Effect
from delaylab.analysis.statistics.quantiles import needed
from delaylab.analysis.statistics.runs import Floats
from delaylab.analysis.statistics.two_runs import quantile_differences, share_difference
from delaylab.analysis.usable import usable
from delaylab.dataset.store import Study
from delaylab.progress import Progress, silent

Verdict = Literal["slower", "faster", "more lost", "fewer lost", "no difference seen"]
NONE: Verdict = "no difference seen"
LOST = Part("packets lost", ROUND_TRIP)
WORDS: dict[str, tuple[Verdict, Verdict]] = {
    "us": ("slower", "faster"),
    "share": ("more lost", "fewer lost"),
}
QUANTILES = {"median": 0.5, "p99": 0.99}
TOO_FEW = f"the median needs {needed(0.5)} independent packets in each dataset"


@dataclass(frozen=True, slots=True)
class Pair:
    """The trials of one combination of levels in both datasets; `doubts` undermine verdicts."""

    levels: dict[str, str]
    trials: tuple[int, int]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """Difference of one statistic of one part under one combination of levels, after − before.

    `statistic` is `median`, `p99` or `share`. Delays are in µs, the packets lost are a share from 0
    to 1. `effect` has its 99 % interval, by which the verdict is given. A difference of `sees` or
    more would have been seen.
    """

    pair: Pair
    part: Part
    statistic: str
    before: float
    after: float
    effect: Effect
    n: tuple[int, int]
    verdict: Verdict
    sees: float

    @property
    def differs(self) -> bool:
        """Return True if a difference was seen."""
        return self.verdict != NONE

    @property
    def known(self) -> bool:
        """Return True if the packets of both datasets carry an interval."""
        return isfinite(self.sees)

    @property
    def unit(self) -> str:
        """Return `us`, or `share` for the packets lost."""
        return "share" if self.part == LOST else "us"


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparison of two datasets. Lines that differ come first, the largest difference before all.

    `unlike` says what only one of them has, or what is not compared and why. `circumstances` are
    differences of the machine and of the trials that are no levels. `doubts` are those about each
    dataset's compared trials.
    """

    before: Study
    after: Study
    lines: list[Line]
    unlike: list[str]
    circumstances: list[Difference]
    doubts: tuple[tuple[ClaimDoubt, ...], tuple[ClaimDoubt, ...]]

    @property
    def seen(self) -> list[Line]:
        """Return the lines in which a difference was seen."""
        return [line for line in self.lines if line.differs]

    @property
    def once(self) -> bool:
        """Return True if some lines rest on one trial in each dataset."""
        return any(line.pair.trials == (1, 1) for line in self.lines)


def compare_datasets(before: Study, after: Study, *, progress: Progress = silent) -> Compared:
    """Compare the trials under load of two datasets, `after` against `before`.

    Raise `BadInput` for a damaged dataset.
    """
    found = [list(groups(study, progress)) for study in (before, after)]
    pairs, unlike = matched(found[0], found[1])
    lines: list[Line] = []
    for ours, theirs in pairs:
        with usable(f"{after.directory}: {theirs.label}"):
            one, other = measured(before, ours.trials), measured(after, theirs.trials)
            unlike += _parts_of_one(ours, theirs, one, other)
            undermining = tuple(
                f"{doubt.kind} ({side})"
                for side, group in (("before", ours), ("after", theirs))
                for doubt in doubts_of([group])
                if doubt.undermines
            )
            trials = len(ours.trials), len(theirs.trials)
            common = {k: v for k, v in ours.factors.items() if k in theirs.factors}
            for line in _lines(Pair(common, trials, undermining), one, other):
                if line.known:
                    lines.append(line)
                elif line.statistic == "median":
                    unlike.append(f"{theirs.label}: {line.part.name} not compared, {TOO_FEW}")
    return Compared(
        before,
        after,
        sorted(lines, key=_rank),
        unlike,
        circumstances(before, after, pairs),
        (doubts_of([pair[0] for pair in pairs]), doubts_of([pair[1] for pair in pairs])),
    )


def matched(before: list[Group], after: list[Group]) -> tuple[list[tuple[Group, Group]], list[str]]:
    """Return the groups with the same levels of the common factors, and why others have none.

    Groups of one dataset that differ only in a factor of its own are unlike one another: none of
    them is compared.
    """
    common = [f for f in _factors(before) if f in _factors(after)]
    sides = [_by_levels(groups, common) for groups in (before, after)]
    unlike = []
    for name, ours, theirs in (("before", before, after), ("after", after, before)):
        for factor, own in _factors(ours).items():
            if factor not in _factors(theirs):
                unlike.append(f"only {name} has the factor {factor} ({', '.join(own)})")
    pairs = []
    for levels in dict.fromkeys([*sides[0], *sides[1]]):
        text = ", ".join(levels) or "all trials"
        found = [side.get(levels, []) for side in sides]
        if not all(found):
            unlike.append(f"only {'before' if found[0] else 'after'} has {text}: not compared")
        elif any(len(groups) > 1 for groups in found):
            which = " and ".join(
                name
                for name, groups in zip(("before", "after"), found, strict=True)
                if len(groups) > 1
            )
            unlike.append(
                f"{text}: not compared, {which} has several levels of a factor of its own"
            )
        else:
            pairs.append((found[0][0], found[1][0]))
    return pairs, unlike


def _factors(groups: list[Group]) -> dict[str, dict[str, None]]:
    """Return each factor with its levels, in their order."""
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for factor, level in group.factors.items():
            found.setdefault(factor, {})[level] = None
    return found


def _by_levels(groups: list[Group], factors: list[str]) -> dict[tuple[str, ...], list[Group]]:
    found: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        levels = tuple(group.factors[factor] for factor in factors)
        found.setdefault(levels, []).append(group)
    return found


def _parts_of_one(ours: Group, theirs: Group, before: Measured, after: Measured) -> Iterator[str]:
    """Yield the segments that only one of the two has, as one line for each dataset."""
    for name, group, has, lacks in (
        ("before", ours, before, after),
        ("after", theirs, after, before),
    ):
        alone = [part for part in has.delays if part not in lacks.delays]
        if alone:
            parts = ", ".join(f"{part.name} ({part.direction})" for part in alone)
            yield f"{group.label}: only {name} has {parts}"


def _lines(pair: Pair, before: Measured, after: Measured) -> Iterator[Line]:
    if before.lost and after.lost:
        effect = share_difference(before.lost, after.lost)
        runs = before.lost, after.lost
        yield _line(pair, LOST, "share", runs, effect)
    for part, ours in before.delays.items():
        theirs = after.delays.get(part, [])
        n = min(sum(map(len, run)) for run in (ours, theirs))
        if n < ENOUGH:
            continue
        off = before.bounds.get(part, 0.0) + after.bounds.get(part, 0.0)
        effects = quantile_differences(ours, theirs, tuple(QUANTILES.values()))
        for name, found in zip(QUANTILES, effects, strict=True):
            low, high = found.interval
            effect = Effect(found.value, (low - off, high + off))
            yield _line(pair, part, name, (ours, theirs), effect)


def _line(
    pair: Pair,
    part: Part,
    statistic: str,
    runs: tuple[list[Floats], list[Floats]],
    effect: Effect,
) -> Line:
    whole = [np.concatenate(run) for run in runs]
    q = QUANTILES.get(statistic)
    before, after = (float(v.mean() if q is None else np.quantile(v, q)) for v in whole)
    low, high = effect.interval
    verdict = NONE
    if low > 0 or high < 0:
        up, down = WORDS["share" if part == LOST else "us"]
        verdict = up if low > 0 else down
    sees = max(effect.value - low, high - effect.value)
    n = len(whole[0]), len(whole[1])
    return Line(pair, part, statistic, before, after, effect, n, verdict, sees)


def _rank(line: Line) -> tuple[bool, bool, float]:
    """Return the sort key: differences first, of these the packets lost, then the largest."""
    if not line.differs:
        return (True, False, 0.0)
    return (False, line.part != LOST, -abs(line.effect.value))
