"""Size of the difference between two series of delays, with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from delaylab.analysis.statistics.quantiles import (
    LEVEL,
    REDRAWS,
    RESAMPLED,
    Floats,
    Interval,
    last_axis_quantiles,
    resample,
    spread,
)

DECILES = tuple(round(q / 10, 1) for q in range(1, 10))


@dataclass(frozen=True, slots=True)
class Effect:
    """An estimate with its 95 % moving-block bootstrap interval."""

    value: float
    interval: Interval


def estimate(series: list[Floats], of: Callable[[list[Floats]], Floats], seed: int = 1) -> Effect:
    """Estimate a statistic of independent series with its bootstrap interval.

    `of` takes one array per series whose last axis holds the samples, and returns one value per
    leading index. Longer series are thinned to `RESAMPLED` samples for the interval.
    """
    return estimates(series, lambda drawn: [of(drawn)], seed)[0]


def estimate_of_few(
    series: list[Floats], of: Callable[[list[Floats]], Floats], seed: int = 1
) -> Effect:
    """Estimate a statistic of series of independent values, of which there may be few.

    Other than in `estimate`, values are redrawn one by one: searches and blocks of trials share no
    queue.
    """
    random = np.random.default_rng(seed)
    redrawn = of([random.choice(values, (REDRAWS, len(values))) for values in series])
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(redrawn, (tail, 1 - tail))
    return Effect(float(of([values[None, :] for values in series])[0]), (float(low), float(high)))


def mean_of_few(values: Floats) -> Effect:
    """Return the mean of at least two independent values, with Student's interval.

    The bootstrap's interval of three values is their range, and all three lie on one side of the
    true mean in a quarter of cases.
    """
    from scipy.stats import t as student  # noqa: PLC0415  takes a second to load, and few need it

    mean = float(values.mean())
    half = float(student.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1))
    half /= math.sqrt(len(values))
    return Effect(mean, (mean - half, mean + half))


def estimates(
    series: list[Floats], of: Callable[[list[Floats]], Sequence[Floats]], seed: int = 1
) -> list[Effect]:
    """Estimate several statistics of the same series from the same redraws, as `estimate` does."""
    kept = [thinned(values) for values in series]
    redrawn = of([resample(values, REDRAWS, seed + i) for i, values in enumerate(kept)])
    tail = (1 - LEVEL) / 2
    values = of([values[None, :] for values in series])
    ranges = [np.quantile(drawn, (tail, 1 - tail)) for drawn in redrawn]
    return [
        Effect(float(value[0]), (float(low), float(high)))
        for value, (low, high) in zip(values, ranges, strict=True)
    ]


def thinned(values: Floats) -> Floats:
    """Return at most `RESAMPLED` samples, spread over the whole series."""
    return values[spread(len(values), RESAMPLED)]


def shift(a: Floats, b: Floats, q: float = 0.5, seed: int = 1) -> Effect:
    """Return the quantile q of `a` minus that of `b`, in the unit of the samples."""

    def apart(series: list[Floats]) -> Floats:
        ours, theirs = (last_axis_quantiles(values, (q,))[0] for values in series)
        return np.asarray(ours - theirs)

    return estimate([a, b], apart, seed)


def decile_shifts(a: Floats, b: Floats, seed: int = 1) -> dict[float, Effect]:
    """Return the shift at every decile, which shows where the two distributions differ."""

    def apart(series: list[Floats]) -> Sequence[Floats]:
        ours, theirs = (last_axis_quantiles(values, DECILES) for values in series)
        return list(ours - theirs)

    return dict(zip(DECILES, estimates([a, b], apart, seed), strict=True))


def cliffs_delta(a: Floats, b: Floats) -> float:
    """Return P(a > b) - P(a < b), between -1 and 1 (Cliff 1993, Psychological Bulletin 114:494)."""
    ordered = np.sort(b)
    below = np.searchsorted(ordered, a, side="left")
    above = len(b) - np.searchsorted(ordered, a, side="right")
    return float((below - above).sum() / (len(a) * len(b)))


def dominance(a: Floats, b: Floats, seed: int = 1) -> Effect:
    """Return Cliff's delta of `a` over `b` with its interval."""

    def of(series: list[Floats]) -> Floats:
        return np.array([cliffs_delta(ours, theirs) for ours, theirs in zip(*series, strict=True)])

    return estimate([a, b], of, seed)
