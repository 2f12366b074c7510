"""Size of the difference between two runs, or of any statistic, with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.statistics import influence
from delaylab_study.analysis.statistics.influence import Statistic, Variation
from delaylab_study.analysis.statistics.memory import autocorrelation_times, ranks, share_time
from delaylab_study.analysis.statistics.quantiles import FEWEST, Located, last_axis_medians, locate
from delaylab_study.analysis.statistics.runs import (
    LEVEL,
    Floats,
    Interval,
    Run,
    RunInBlocks,
    Series,
    as_run,
    whole,
)
from delaylab_study.analysis.statistics.student import (
    combined,
    distance,
    error_of_difference,
    half_width,
)
from delaylab_study.analysis.statistics.wilson import wilson

Value = TypeVar("Value")
DECILES = tuple(round(q / 10, 1) for q in range(1, 10))
FEWEST_BLOCKS, FEWEST_IN_BLOCK = 3, 30
"""The fewest blocks over which a statistic is averaged, and the fewest packets of a trial there."""
UNKNOWN = (-math.inf, math.inf)
"""Interval of an effect of which the packets say nothing: too few of them are independent."""
SHARE = (0.0, 1.0)
"""Smallest and largest value of a share and of Jain's index."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An estimate with its 95 % interval; both ends are infinite if the data carry none."""

    value: float
    interval: Interval


def estimate(series: Sequence[Series], of: Statistic) -> Effect:
    """Estimate a statistic of independent series, each with its trials or of one trial.

    `of` takes one array per series whose last axis holds the packets, and returns one value per
    leading index. The interval is Student's, from the memory of the packets' influences
    (`influence`). Of trials that know their blocks it is the mean over blocks. There is none if
    too few independent packets carry the statistic of a tail.
    """
    in_blocks = [each for each in series if isinstance(each, RunInBlocks)]
    if len(in_blocks) == len(series) and (within := _within_blocks(in_blocks, of)) is not None:
        return within
    runs = [as_run(each) for each in series]
    value = float(of([whole(run)[None, :] for run in runs])[0])
    found = influence.among_packets(runs, of)
    error, freedom = combined(found)
    if not math.isfinite(value + error) or min(sum(map(len, run)) for run in runs) < FEWEST:
        return Effect(value, UNKNOWN)
    half = max(distance(freedom, LEVEL) * error, _half(influence.among_trials(runs, of)))
    return Effect(value, (value - half, value + half))


def _within_blocks(runs: Sequence[RunInBlocks], of: Statistic) -> Effect | None:
    """Return the mean of a statistic over the blocks that all runs have; None if they are too few.

    The trials of a block ran on one machine, so what a machine does to all of its trials is no
    noise of a comparison, and machines that differ are not mixed in one distribution.
    """
    blocks = [
        block
        for block in sorted(frozenset[int].intersection(*(frozenset(run.blocks) for run in runs)))
        if all(len(run.of(block)) >= FEWEST_IN_BLOCK for run in runs)
    ]
    if len(blocks) < FEWEST_BLOCKS:
        return None
    values = [float(of([run.of(block)[None, :] for run in runs])[0]) for block in blocks]
    return mean_of_few(np.array(values))


def of_medians(function: Callable[..., Floats]) -> Statistic:
    """Return a statistic for `estimate`: a function of the series' medians, in their order."""

    def of(series: Sequence[Floats]) -> Floats:
        return np.asarray(function(*map(last_axis_medians, series)))

    return of


def estimate_of_few(series: Sequence[Floats], of: Statistic) -> Effect:
    """Estimate a statistic of series of independent values, of which there may be few.

    Searches and blocks of trials share no queue. The interval is Student's, with the jackknife's
    variance: of three values, the ends of the range would miss too often.
    """
    value = float(of([values[None, :] for values in series])[0])
    runs = [[values[index : index + 1] for index in range(len(values))] for values in series]
    found = influence.among_trials(runs, of)
    if len(found) < len(series):
        return Effect(value, UNKNOWN)
    half = _half(found)
    return Effect(value, (value - half, value + half))


def _half(variations: list[Variation]) -> float:
    error, freedom = combined(variations)
    return distance(freedom, LEVEL) * error if error else 0.0


def mean_of_few(values: Floats, within: Interval = UNKNOWN) -> Effect:
    """Return the mean of independent values, with Student's interval; one value has none.

    `within` is the smallest and the largest value that the quantity can have. The interval is cut
    there, so that the interval of a share does not go beyond 1.
    """
    if len(values) < 2:
        return Effect(float(values[0]), UNKNOWN)
    mean, half = float(values.mean()), half_width(values, LEVEL)
    return Effect(mean, (max(mean - half, within[0]), min(mean + half, within[1])))


def paired(
    ours: Mapping[int, Value], theirs: Mapping[int, Value], of: Callable[[Value, Value], float]
) -> Floats:
    """Return a function of two trials for each repeat that both have, in their order.

    Trials of one repeat ran near each other in time, so what drifts is the same for both.
    """
    return np.array(
        [of(ours[repeat], theirs[repeat]) for repeat in sorted(ours.keys() & theirs.keys())]
    )


def shift(a: Series, b: Series, q: float = 0.5) -> Effect:
    """Return the quantile q of `a` minus that of `b`, in the unit of the samples."""
    return shifts(a, b, (q,))[0]


def decile_shifts(a: Series, b: Series) -> dict[float, Effect]:
    """Return the shift at every decile, which shows where the two distributions differ."""
    return dict(zip(DECILES, shifts(a, b, DECILES), strict=True))


def shifts(a: Series, b: Series, qs: Sequence[float], level: float = LEVEL) -> list[Effect]:
    """Return the quantiles of `a` minus those of `b`."""
    located = (locate(each, qs, level) for each in (a, b))
    return [difference(ours, theirs, level) for ours, theirs in zip(*located, strict=True)]


def difference(ours: Located, theirs: Located, level: float = LEVEL) -> Effect:
    """Return the difference of two quantiles of independent runs.

    Its interval has the arms of the two intervals, added as squares (Zou and Donner 2008,
    Statistics in Medicine 27:1693), and is at least as wide as Welch's of the trials' quantiles.
    """
    value = ours.value - theirs.value
    if ours.interval is None or theirs.interval is None:
        return Effect(value, UNKNOWN)
    one, other = _joint_scales((ours, theirs), level)
    low = math.hypot(
        one * (ours.value - ours.interval[0]), other * (theirs.interval[1] - theirs.value)
    )
    high = math.hypot(
        one * (ours.interval[1] - ours.value), other * (theirs.value - theirs.interval[0])
    )
    error, freedom = error_of_difference(ours.trials, theirs.trials)
    least = distance(freedom, level) * error
    return Effect(value, (value - max(low, least), value + max(high, least)))


def _joint_scales(sides: tuple[Located, Located], level: float) -> list[float]:
    """Return the factors that give two intervals the degrees of freedom of their difference."""
    alone = [distance(side.effective - 1, level) for side in sides]
    widths = [side.interval[1] - side.interval[0] if side.interval else 0.0 for side in sides]
    variances = [(width / each) ** 2 for width, each in zip(widths, alone, strict=True)]
    parts = [(v, side.effective - 1) for v, side in zip(variances, sides, strict=True)]
    joint = distance(combined(parts)[1], level)
    return [joint / each for each in alone]


def cliffs_delta(a: Floats, b: Floats) -> float:
    """Return P(a > b) - P(a < b), between -1 and 1 (Cliff 1993, Psychological Bulletin 114:494)."""
    return float(placements(a, np.sort(b)).mean())


def placements(a: Floats, ordered: Floats) -> Floats:
    """Return, for each of `a`, the share of the ordered series below it less the share above it."""
    below = np.searchsorted(ordered, a, side="left")
    above = len(ordered) - np.searchsorted(ordered, a, side="right")
    return np.asarray((below - above) / len(ordered))


def share(flags: Sequence[NDArray[np.bool_]], delays: Sequence[Floats]) -> Effect:
    """Return the share of packets that are flagged, given each trial's flags and delays.

    The interval is Wilson's, with the effective sample size (`memory.share_time`). Trials differ by
    more than their packets tell. So where they repeat, the interval also covers the one for the
    sample size at which a share varies as much as the trials' shares do. Wilson's interval, unlike
    Student's, is skewed as small shares are. Rare flags have an interval, too: a claim may be that
    they are rare.
    """
    known = [(own, trial) for own, trial in zip(flags, delays, strict=True) if len(own)]
    run = [own.astype(np.float64) for own, _ in known]
    return _share(run, sum(map(len, run)) / share_time(run, [trial for _, trial in known]))


def share_of_drawn(flags: Sequence[NDArray[np.bool_]]) -> Effect:
    """Return the share of packets that are flagged among those drawn at random from each trial.

    Draws do not depend on each other, whatever neighbours share, so each is worth one. Where trials
    repeat, the interval covers what they differ by, as that of `share` does.
    """
    run = [own.astype(np.float64) for own in flags if len(own)]
    return _share(run, sum(map(len, run)))


def _share(run: Run, effective: float) -> Effect:
    value = float(whole(run).mean())
    low, high = wilson(value, effective, distance(effective - 1, LEVEL))
    of_trials = np.array([trial.mean() for trial in run])
    variance = float(of_trials.var(ddof=1)) / len(run) if len(run) > 1 else 0.0
    if variance > 0:
        errors = distance(len(run) - 1, LEVEL)
        low_of_trials, high_of_trials = wilson(value, value * (1 - value) / variance, errors)
        low, high = min(low, low_of_trials), max(high, high_of_trials)
    return Effect(value, (low, high))


@dataclass(frozen=True, slots=True)
class Placed:
    """Placements of the packets of a run among those of another, by trial."""

    trials: list[Floats]
    effective: float

    @property
    def n(self) -> int:
        """Return the number of packets."""
        return sum(map(len, self.trials))

    @property
    def means(self) -> Floats:
        """Return the mean of each trial."""
        return np.array([trial.mean() for trial in self.trials])

    @property
    def variation(self) -> Variation:
        """Return the variance of the mean, and its degrees of freedom."""
        return float(whole(self.trials).var()) / (self.effective - 1), self.effective - 1


def among_placements(ours: Placed, theirs: Placed) -> tuple[float, float]:
    """Return the standard error of a delta by the trials, and its degrees of freedom.

    The two sides' placements are among each other, so they have only those of the smaller side.
    """
    error, freedom = error_of_difference(ours.means, theirs.means)
    repeated = [len(side.trials) for side in (ours, theirs) if len(side.trials) > 1]
    return error, min([freedom, *(count - 1.0 for count in repeated)])


def placed(a: Run, b: Run) -> Placed:
    """Return the placements of `a` among `b` with their effective sample size."""
    ordered = np.sort(whole(b))
    trials = [placements(trial, ordered) for trial in a]
    # Placements that are all the same have no memory, but the packets may: their ranks tell.
    both = [np.vstack([ours, ranks(trial)]) for ours, trial in zip(trials, a, strict=True)]
    return Placed(trials, sum(map(len, trials)) / float(autocorrelation_times(both).max()))


def dominance_of(ours: Placed, theirs: Placed) -> Effect:
    """Return Cliff's delta, given the placements of each run among the other.

    A packet's placement is its influence, so the variance is that of the placements' means. The
    interval is Wilson's of a share seen in as many trials as give this variance; that keeps it
    between -1 and 1. There are at least as many as the smaller effective sample (Birnbaum and Klose
    1957, Annals of Mathematical Statistics 28:933).
    """
    value = float(whole(ours.trials).mean())
    wins, seen = (1 + value) / 2, min(ours.effective, theirs.effective)
    if min(ours.n, theirs.n) < FEWEST:
        return Effect(value, UNKNOWN)
    error, freedom = combined([ours.variation, theirs.variation])
    if error:
        seen = max(seen, 4 * wins * (1 - wins) / error**2)
    low, high = (2 * end - 1 for end in wilson(wins, seen, distance(freedom, LEVEL)))
    among, freedom = among_placements(ours, theirs)
    half = distance(freedom, LEVEL) * among
    return Effect(value, (max(-1.0, min(low, value - half)), min(1.0, max(high, value + half))))
