"""How much two series of delays differ, with an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from delaylab.analysis.statistics import LEVEL, REDRAWS, RESAMPLED, Floats, Interval, resample

DECILES = tuple(round(q / 10, 1) for q in range(1, 10))


@dataclass(frozen=True, slots=True)
class Effect:
    """An estimate with its 95 % moving-block bootstrap interval."""

    value: float
    interval: Interval


def estimate(series: list[Floats], of: Callable[[list[Floats]], Floats], seed: int = 1) -> Effect:
    """Return a statistic of independent series with its bootstrap interval.

    `of` takes one array per series whose last axis holds the samples, and returns one value per
    leading index. Series longer than `RESAMPLED` are thinned to every k-th sample first.
    """
    kept = [values[:: max(1, -(-len(values) // RESAMPLED))] for values in series]
    redrawn = of([resample(values, REDRAWS, seed + i) for i, values in enumerate(kept)])
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(redrawn, (tail, 1 - tail))
    value = of([values[None, :] for values in series])
    return Effect(float(value[0]), (float(low), float(high)))


def shift(a: Floats, b: Floats, q: float = 0.5, seed: int = 1) -> Effect:
    """Return how far the quantile q of `a` lies above that of `b`, in their unit."""
    return estimate(
        [a, b], lambda s: np.quantile(s[0], q, axis=-1) - np.quantile(s[1], q, axis=-1), seed
    )


def decile_shifts(a: Floats, b: Floats, seed: int = 1) -> dict[float, Effect]:
    """Return the shift at every decile: where in the distribution two series differ."""
    return {q: shift(a, b, q, seed) for q in DECILES}


def cliffs_delta(a: Floats, b: Floats) -> float:
    """Return P(a > b) - P(a < b), between -1 and 1 (Cliff 1993, Psychological Bulletin 114:494)."""
    ordered = np.sort(b)
    below = np.searchsorted(ordered, a, side="left")
    above = len(b) - np.searchsorted(ordered, a, side="right")
    return float((below - above).sum() / (len(a) * len(b)))
