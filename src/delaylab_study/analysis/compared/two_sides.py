"""Comparison of two sides, only where the levels of the factors that both have are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.analysis.claims.claim import ENOUGH
from delaylab_study.analysis.claims.doubted import ClaimDoubt, doubts_of
from delaylab_study.analysis.compared.blocks import Sample, common_blocks, shift_of
from delaylab_study.analysis.compared.circumstances import DifferingCircumstance, circumstances
from delaylab_study.analysis.compared.events import event_lines
from delaylab_study.analysis.compared.lines import LOST, ComparedLine, ComparedTrials, line
from delaylab_study.analysis.compared.measured import MeasuredParts, measured
from delaylab_study.analysis.compared.side import Side
from delaylab_study.analysis.compared.work import work_lines, worked
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.quantiles import needed
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.analysis.statistics.two_runs import CERTAIN, share_difference
from delaylab_study.analysis.usable import usable

Sides = tuple[Side, Side]
QUANTILES = {"median": 0.5, "p99": 0.99}
TOO_FEW = f"the median needs {needed(0.5)} independent packets on each side"

ALL_ALIKE = "its trials are all alike, so nothing tells by how much trials differ"


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """The comparison of two sides. Lines that differ come first, the largest difference before all.

    `unlike` says what only one of them has, or what is not compared and why. `circumstances` are
    differences of the machine and of the trials that are no levels. `doubts` are those about each
    side's compared trials.
    """

    before: Side
    after: Side
    lines: list[ComparedLine]
    unlike: list[str]
    circumstances: list[DifferingCircumstance]
    doubts: tuple[tuple[ClaimDoubt, ...], tuple[ClaimDoubt, ...]]

    @property
    def seen(self) -> list[ComparedLine]:
        """Return the lines in which a difference was seen."""
        return [line for line in self.lines if line.differs]

    @property
    def once(self) -> bool:
        """Return True if some lines rest on one trial on each side."""
        return len(self.repeated) < len(self.lines)

    @property
    def repeated(self) -> list[ComparedLine]:
        """Return the lines with several trials on a side, which show how runs differ."""
        return [line for line in self.lines if max(line.pair.trials) > 1]

    @property
    def by_chance(self) -> float | None:
        """Return how many lines at most would differ if nothing did, on average.

        It counts the lines with repeats, and is None without any: of real pairs of single trials
        of one setting, four in ten differ by the interval of their packets. Of few repeats the
        intervals are wider than the data ask for, so fewer lines differ.
        """
        repeated = self.repeated
        return (1 - CERTAIN) * len(repeated) if repeated else None


def compare_sides(before: Side, after: Side) -> ComparedSides:
    """Compare the trials under load of two sides, `after` against `before`.

    Raise `BadInput` for a damaged dataset.
    """
    sides = before, after
    pairs, unlike = matched(sides)
    lines: list[ComparedLine] = []
    for ours, theirs in pairs:
        with usable(f"{after.study.directory}: {theirs.label}"):
            found_lines, why_not = _compared(sides, ours, theirs)
            lines += found_lines
            unlike += why_not
    return ComparedSides(
        before,
        after,
        sorted(lines, key=_rank),
        unlike,
        circumstances(before.study, after.study, pairs),
        (doubts_of([pair[0] for pair in pairs]), doubts_of([pair[1] for pair in pairs])),
    )


def _compared(sides: Sides, ours: Group, theirs: Group) -> tuple[list[ComparedLine], list[str]]:
    """Return the lines of two groups of the same levels, and what of them is not compared."""
    before, after = sides
    undermining = tuple(
        f"{doubt.kind} ({side.name})"
        for side, group in zip(sides, (ours, theirs), strict=True)
        for doubt in doubts_of([group])
        if doubt.undermines
    )
    common = {k: v for k, v in before.levels(ours).items() if k in after.levels(theirs)}
    pair = ComparedTrials(sides, common, (len(ours.trials), len(theirs.trials)), undermining)
    works = worked(before.study, ours.trials), worked(after.study, theirs.trials)
    lines, unlike = work_lines(pair, *works)
    lines += event_lines(pair, ours, theirs)
    unlike = [f"{theirs.label}: {why}" for why in unlike]
    if ours.probed != theirs.probed:
        side = before if ours.probed else after
        unlike.append(f"{theirs.label}: packets, because only {side.name} has a probe")
    elif ours.probed:
        one, other = measured(before.study, ours.trials), measured(after.study, theirs.trials)
        unlike += _parts_of_one(sides, (ours, theirs), (one, other))
        lines += _lines(pair, one, other)
    for each in lines:
        if not each.known and each.statistic == "median":
            unlike.append(f"{theirs.label}: {each.part.name}, because {TOO_FEW}")
        elif not each.known and each.of_trials:
            unlike.append(f"{theirs.label}: {each.part.name}, because {ALL_ALIKE}")
    return [each for each in lines if each.known], unlike


def matched(sides: Sides) -> tuple[list[tuple[Group, Group]], list[str]]:
    """Return the groups with the same levels of the common factors, and why others have no match.

    Groups of one side that differ only in a factor of its own are unlike one another, so they are
    not compared.
    """
    factors = [_factors(side) for side in sides]
    common = [factor for factor in factors[0] if factor in factors[1]]
    by_levels = [_by_levels(side, common) for side in sides]
    unlike = []
    for place, side in enumerate(sides):
        for factor, own in factors[place].items():
            if factor not in factors[1 - place]:
                listed = ", ".join(own)
                unlike.append(f"factor {factor} ({listed}), because only {side.name} has it")
    pairs = []
    for levels in dict.fromkeys([*by_levels[0], *by_levels[1]]):
        text = ", ".join(levels) or "all trials"
        found = [side.get(levels, []) for side in by_levels]
        if not all(found):
            has = sides[0] if found[0] else sides[1]
            unlike.append(f"{text}, because only {has.name} has it")
        elif any(len(groups) > 1 for groups in found):
            which = " and ".join(
                side.name for side, groups in zip(sides, found, strict=True) if len(groups) > 1
            )
            unlike.append(f"{text}, because {which} has several levels of a factor of its own")
        else:
            pairs.append((found[0][0], found[1][0]))
    return pairs, unlike


def _factors(side: Side) -> dict[str, dict[str, None]]:
    """Return each factor of a side with its levels, in their order."""
    found: dict[str, dict[str, None]] = {}
    for group in side.groups:
        for factor, level in side.levels(group).items():
            found.setdefault(factor, {})[level] = None
    return found


def _by_levels(side: Side, factors: list[str]) -> dict[tuple[str, ...], list[Group]]:
    found: dict[tuple[str, ...], list[Group]] = {}
    for group in side.groups:
        levels = tuple(group.factors[factor] for factor in factors)
        found.setdefault(levels, []).append(group)
    return found


def _parts_of_one(
    sides: Sides, pair: tuple[Group, Group], found: tuple[MeasuredParts, MeasuredParts]
) -> Iterator[str]:
    """Yield the segments that only one of the two has, as one line for each side."""
    for place, side in enumerate(sides):
        has, lacks = found[place], found[1 - place]
        alone = [part for part in has.delays if part not in lacks.delays]
        if alone:
            parts = ", ".join(f"{part.name} ({part.direction})" for part in alone)
            yield f"{pair[place].label}: {parts}, because only {side.name} has it"


def _lines(
    pair: ComparedTrials, before: MeasuredParts, after: MeasuredParts
) -> Iterator[ComparedLine]:
    if before.lost and after.lost:
        yield _lost(pair, before.lost, after.lost)
    for part, ours in before.delays.items():
        theirs = after.delays.get(part, {})
        n = tuple(sum(map(len, run.values())) for run in (ours, theirs))
        if min(n) < ENOUGH:
            continue
        off = before.bounds.get(part, 0.0) + after.bounds.get(part, 0.0)
        before_of, after_of = (
            Sample(run, tuple(QUANTILES.values()), CERTAIN) for run in (ours, theirs)
        )
        for place, name in enumerate(QUANTILES):
            found = shift_of(before_of, after_of, place, paired=pair.in_blocks)
            low, high = found.effect.interval
            effect = Effect(found.effect.value, (low - off, high + off))
            yield line(pair, part, name, (found.before, found.after), effect, (n[0], n[1]))


def _lost(
    pair: ComparedTrials, before: dict[int, Floats], after: dict[int, Floats]
) -> ComparedLine:
    """Return the difference of the shares of packets lost."""
    common = common_blocks(before, after) if pair.in_blocks else []
    ours, theirs = ([run[repeat] for repeat in common or run] for run in (before, after))
    effect = share_difference(ours, theirs, paired=bool(common))
    whole = [np.concatenate(run) for run in (ours, theirs)]
    shares = float(whole[0].mean()), float(whole[1].mean())
    return line(pair, LOST, "share", shares, effect, (len(whole[0]), len(whole[1])))


def _rank(line: ComparedLine) -> tuple[bool, int, float]:
    """Return the sort key: differences first, of these the packets lost, then work, then delays.

    The largest comes first, of work the largest in relation to what it was before.
    """
    if not line.differs:
        return (True, 0, 0.0)
    if line.of_work:
        return (False, 1, -abs(line.effect.value / (line.before or 1.0)))
    return (False, 0 if line.part == LOST else 2, -abs(line.effect.value))
