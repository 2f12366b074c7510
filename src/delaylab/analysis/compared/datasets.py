"""Comparison of two datasets, only where the levels of the factors that both have are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab.analysis.analyse import groups
from delaylab.analysis.claims.claim import ENOUGH
from delaylab.analysis.claims.doubted import ClaimDoubt, doubts_of
from delaylab.analysis.compared.circumstances import Difference, circumstances
from delaylab.analysis.compared.lines import LOST, Line, Pair, line
from delaylab.analysis.compared.measured import Measured, Part, measured
from delaylab.analysis.compared.work import work_lines, worked
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import Effect
from delaylab.analysis.statistics.quantiles import needed
from delaylab.analysis.statistics.runs import Floats
from delaylab.analysis.statistics.two_runs import quantile_differences, share_difference
from delaylab.analysis.usable import usable
from delaylab.dataset.store import Study
from delaylab.progress import Progress, silent

QUANTILES = {"median": 0.5, "p99": 0.99}
TOO_FEW = f"the median needs {needed(0.5)} independent packets in each dataset"

ALL_ALIKE = "its trials are all alike, so nothing tells by how much trials differ"


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
            found_lines, why_not = _compared(before, after, ours, theirs)
            lines += found_lines
            unlike += why_not
    return Compared(
        before,
        after,
        sorted(lines, key=_rank),
        unlike,
        circumstances(before, after, pairs),
        (doubts_of([pair[0] for pair in pairs]), doubts_of([pair[1] for pair in pairs])),
    )


def _compared(
    before: Study, after: Study, ours: Group, theirs: Group
) -> tuple[list[Line], list[str]]:
    """Return the lines of two groups of the same levels, and what of them is not compared."""
    undermining = tuple(
        f"{doubt.kind} ({side})"
        for side, group in (("before", ours), ("after", theirs))
        for doubt in doubts_of([group])
        if doubt.undermines
    )
    common = {k: v for k, v in ours.factors.items() if k in theirs.factors}
    pair = Pair(common, (len(ours.trials), len(theirs.trials)), undermining)
    lines, unlike = work_lines(pair, worked(before, ours.trials), worked(after, theirs.trials))
    unlike = [f"{theirs.label}: {why}" for why in unlike]
    if ours.probed != theirs.probed:
        side = "before" if ours.probed else "after"
        unlike.append(f"{theirs.label}: packets, because only {side} has a probe")
    elif ours.probed:
        one, other = measured(before, ours.trials), measured(after, theirs.trials)
        unlike += _parts_of_one(ours, theirs, one, other)
        lines += _lines(pair, one, other)
    for each in lines:
        if not each.known and each.statistic == "median":
            unlike.append(f"{theirs.label}: {each.part.name}, because {TOO_FEW}")
        elif not each.known and each.of_work:
            unlike.append(f"{theirs.label}: {each.part.name}, because {ALL_ALIKE}")
    return [each for each in lines if each.known], unlike


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
                unlike.append(f"factor {factor} ({', '.join(own)}), because only {name} has it")
    pairs = []
    for levels in dict.fromkeys([*sides[0], *sides[1]]):
        text = ", ".join(levels) or "all trials"
        found = [side.get(levels, []) for side in sides]
        if not all(found):
            unlike.append(f"{text}, because only {'before' if found[0] else 'after'} has it")
        elif any(len(groups) > 1 for groups in found):
            which = " and ".join(
                name
                for name, groups in zip(("before", "after"), found, strict=True)
                if len(groups) > 1
            )
            unlike.append(f"{text}, because {which} has several levels of a factor of its own")
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
            yield f"{group.label}: {parts}, because only {name} has it"


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
    return line(pair, part, statistic, (before, after), effect, (len(whole[0]), len(whole[1])))


def _rank(line: Line) -> tuple[bool, int, float]:
    """Return the sort key: differences first, of these the packets lost, then work, then delays.

    The largest comes first, of work the largest in relation to what it was before.
    """
    if not line.differs:
        return (True, 0, 0.0)
    if line.of_work:
        return (False, 1, -abs(line.effect.value / (line.before or 1.0)))
    return (False, 0 if line.part == LOST else 2, -abs(line.effect.value))
