"""Differences that each level of a factor makes to the user RTT, all other levels alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from delaylab_study.analysis.claims.claim import ENOUGH
from delaylab_study.analysis.claims.doubted import doubts_of
from delaylab_study.analysis.claims.groups import by_repeat, scenario
from delaylab_study.analysis.compared.blocks import (
    FEWEST_BLOCKS,
    Sample,
    Shift,
    mean_of,
    over_blocks,
    shift_of,
)
from delaylab_study.analysis.compared.numbers import Numbers, numbers_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.runs import LEVEL

QUANTILES = {"median": 0.5, "p99": 0.99}
APART = 10.0
"""Ratio of the largest to the smallest median of scenarios from which on they have no mean."""
Scenario = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Contrast:
    """The difference of one quantile of the user RTT between a level and the reference, in µs.

    `scenario` has the levels of the other factors. `before` is the quantile with the reference
    level and `after` that with this level; `effect` is their difference with its 95 % interval.
    `blocks` is the number of blocks whose trials were paired, 0 if they were not. `doubts` are
    those that undermine the difference.
    """

    level: str
    scenario: Mapping[str, str]
    statistic: str
    before: float
    after: float
    effect: Effect
    blocks: int
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a level's differences over all scenarios of both levels, each with equal weight.

    There is none over scenarios whose quantiles differ by `APART` times or more: the slowest would
    drown all others.
    """

    level: str
    statistic: str
    effect: Effect
    scenarios: int
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorLevels:
    """Levels of a factor, each against `reference`: in each scenario, and on average.

    `alone` are levels that share no scenario with the reference, so that nothing is known of them.
    `numbers` are the amounts that the levels stand for, if they are numbers.
    """

    factor: str
    reference: str
    levels: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    means: tuple[Mean, ...]
    alone: tuple[str, ...] = ()
    numbers: Numbers | None = None

    def of(self, level: str, statistic: str) -> list[Contrast]:
        """Return the contrasts of a level by one statistic, in the order of the scenarios."""
        return [c for c in self.contrasts if (c.level, c.statistic) == (level, statistic)]


def levels_of(factors: Mapping[str, Sequence[str]], groups: Sequence[Group]) -> list[FactorLevels]:
    """Return what each level of each factor adds, against the first level that has packets.

    `factors` has the levels of each factor in their order. Factors with one level are left out.
    """
    samples = {id(group): _sample(group) for group in groups}
    enough = [group for group in groups if samples[id(group)] is not None]
    found = []
    for factor, levels in factors.items():
        present = [each for each in levels if any(g.factors.get(factor) == each for g in enough)]
        if len(present) > 1:
            known = {key: each for key, each in samples.items() if each is not None}
            found.append(_of_factor(factor, present, enough, known))
    return [each for each in found if each.contrasts]


def _sample(group: Group) -> Sample | None:
    trials = by_repeat(group, "app")
    if sum(map(len, trials.values())) < ENOUGH:
        return None
    run = {repeat: packets["app"].to_numpy() for repeat, packets in trials.items()}
    return Sample(run, tuple(QUANTILES.values()), LEVEL)


def _of_factor(
    factor: str, levels: list[str], groups: list[Group], samples: dict[int, Sample]
) -> FactorLevels:
    reference, *others = levels
    by_scenario = {
        level: {scenario(g, [factor]): g for g in groups if g.factors.get(factor) == level}
        for level in levels
    }
    contrasts: list[Contrast] = []
    means: list[Mean] = []
    compared = []
    for level in others:
        pairs = [
            (where, by_scenario[reference][where], ours)
            for where, ours in by_scenario[level].items()
            if where in by_scenario[reference]
        ]
        if not pairs:
            continue
        compared.append(level)
        for place, statistic in enumerate(QUANTILES):
            shifts = [
                shift_of(samples[id(before)], samples[id(after)], place, paired=True)
                for _, before, after in pairs
            ]
            contrasts += _contrasts(level, statistic, pairs, shifts)
            if place == 0:
                alike = _of_one_size(shifts)
            if alike:
                means.append(_mean(level, statistic, shifts))
    alone = tuple(level for level in others if level not in compared)
    return FactorLevels(
        factor=factor,
        reference=reference,
        levels=tuple(compared),
        contrasts=tuple(contrasts),
        means=tuple(means),
        alone=alone,
        numbers=numbers_of(levels),
    )


def _contrasts(
    level: str,
    statistic: str,
    pairs: list[tuple[Scenario, Group, Group]],
    shifts: list[Shift],
) -> Iterator[Contrast]:
    for (where, before, after), shift in zip(pairs, shifts, strict=True):
        doubts = tuple(each.text for each in doubts_of([before, after]) if each.undermines)
        values = shift.before, shift.after, shift.effect, len(shift.blocks)
        yield Contrast(level, dict(where), statistic, *values, doubts)


def _of_one_size(shifts: list[Shift]) -> bool:
    """Return True if the medians of all scenarios are of one order of magnitude."""
    medians = [value for shift in shifts for value in (shift.before, shift.after)]
    return len(shifts) == 1 or 0 < max(medians) < APART * min(medians)


def _mean(level: str, statistic: str, shifts: list[Shift]) -> Mean:
    """Return the mean over scenarios: block by block where all scenarios have the same blocks."""
    common = sorted(set.intersection(*(set(shift.blocks) for shift in shifts)))
    if len(common) >= FEWEST_BLOCKS:
        each = [mean_of([shift.blocks[repeat] for shift in shifts]) for repeat in common]
        return Mean(level, statistic, over_blocks(each, LEVEL), len(shifts), len(common))
    return Mean(level, statistic, mean_of([shift.effect for shift in shifts]), len(shifts), 0)
