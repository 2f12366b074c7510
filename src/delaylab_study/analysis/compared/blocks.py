"""Differences of quantiles between two runs, whose trials may have run in blocks.

The trials of one repeat of a study are a block: they ran near each other in time, one for each
combination of levels. What drifts from block to block is the same in both trials of a pair, so the
difference of a pair is known better than either trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import hypot, isfinite

import numpy as np

from delaylab_study.analysis.statistics.effects import Effect, difference
from delaylab_study.analysis.statistics.quantiles import Located, locate
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.analysis.statistics.student import half_width

Blocks = Mapping[int, Floats]
"""The trials of one combination of levels: the series of each, by its repeat."""
FEWEST_BLOCKS = 3
"""The smallest number of blocks whose trials are paired. The differences of two blocks have one
degree of freedom, so Student's interval of them is wider than Welch's of four trials."""


@dataclass(frozen=True)
class Sample:
    """Quantiles `qs` of a run: of each of its trials, and of all its packets together."""

    run: Blocks
    qs: tuple[float, ...]
    level: float

    @cached_property
    def trials(self) -> dict[int, list[Located]]:
        """Return the quantiles of each trial, by its repeat."""
        return {repeat: locate(series, self.qs, self.level) for repeat, series in self.run.items()}

    @cached_property
    def pooled(self) -> list[Located]:
        """Return the quantiles of all packets, with the trials' own beside them."""
        return locate([*self.run.values()], self.qs, self.level)


@dataclass(frozen=True, slots=True)
class Shift:
    """A quantile on both sides, and its difference, after − before.

    `blocks` has the difference in each block; it is empty if the trials are not paired. Then the
    quantiles are those of all packets; else they are the means of the paired trials' own.
    """

    before: float
    after: float
    effect: Effect
    blocks: dict[int, Effect] = field(default_factory=dict)


def shift_of(before: Sample, after: Sample, place: int, *, paired: bool) -> Shift:
    """Return the difference of the quantile at this place of `qs`.

    With `paired`, the trials of one repeat are compared with each other. If there are too few of
    them, or if one trial alone does not carry the quantile, all packets are compared.
    """
    common = common_blocks(before.run, after.run) if paired else []
    if common:
        pairs = [(before.trials[k][place], after.trials[k][place]) for k in common]
        blocks = {
            repeat: difference(theirs, ours, before.level)
            for repeat, (ours, theirs) in zip(common, pairs, strict=True)
        }
        effect = over_blocks([*blocks.values()], before.level)
        if isfinite(effect.interval[0]):
            means = np.array([[ours.value, theirs.value] for ours, theirs in pairs]).mean(axis=0)
            return Shift(float(means[0]), float(means[1]), effect, blocks)
    ours, theirs = before.pooled[place], after.pooled[place]
    return Shift(ours.value, theirs.value, difference(theirs, ours, before.level))


def common_blocks(before: Mapping[int, object], after: Mapping[int, object]) -> list[int]:
    """Return the repeats that both sides have; nothing if they are too few."""
    common = sorted(before.keys() & after.keys())
    return common if len(common) >= FEWEST_BLOCKS else []


def over_blocks(blocks: Sequence[Effect], level: float) -> Effect:
    """Return the mean of the blocks' effects.

    Its interval is Student's of the effects, and at least as wide as their own intervals tell.
    """
    found = mean_of(blocks)
    half = half_width(np.array([each.value for each in blocks]), level)
    low, high = found.interval
    return Effect(found.value, (min(low, found.value - half), max(high, found.value + half)))


def mean_of(effects: Sequence[Effect]) -> Effect:
    """Return the mean of independent effects; the arms of its interval are added as squares."""
    n = len(effects)
    value = sum(each.value for each in effects) / n
    low = hypot(*(each.value - each.interval[0] for each in effects)) / n
    high = hypot(*(each.interval[1] - each.value for each in effects)) / n
    return Effect(value, (value - low, value + high))
