"""Comparison of two conditions, or of one with many: size and significance of the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from delaylab.analysis.statistics.effects import Effect, decile_shifts, dominance, shift
from delaylab.analysis.statistics.quantiles import Floats, block_length

# Largest size of the smaller series at which scipy counts all arrangements, if there are no ties.
COUNTED_OUT = 8


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference between series `a` and `b`, with 95 % moving-block bootstrap intervals.

    `shift` is the difference of the medians and `deciles` that at each decile, in the samples'
    unit. `delta` is Cliff's delta, P(a > b) - P(a < b). `p` is of the two-sided Mann-Whitney test,
    `p_holm` is corrected for the family of comparisons that this one belongs to.
    """

    n: tuple[int, int]
    medians: tuple[float, float]
    shift: Effect
    deciles: dict[float, Effect]
    delta: Effect
    p: float
    p_holm: float


def compare(a: Floats, b: Floats, seed: int = 1) -> Comparison:
    """Compare two non-empty series, each in the order of sending, as a family of one.

    The test counts one packet of each block of n^(1/3): neighbours share a queue, so they tell less
    than their number suggests.
    """
    p = mann_whitney(_apart(a), _apart(b))
    return Comparison(
        n=(len(a), len(b)),
        medians=(float(np.median(a)), float(np.median(b))),
        shift=shift(a, b, seed=seed),
        deciles=decile_shifts(a, b, seed),
        delta=dominance(a, b, seed),
        p=p,
        p_holm=p,
    )


def mann_whitney(a: Floats, b: Floats) -> float:
    """Return p of the two-sided Mann-Whitney test.

    It is scipy's, by the normal approximation with correction for ties and continuity. Only series
    so short that scipy counts all arrangements are left to it: it takes a second to load.
    """
    both = np.concatenate([a, b])
    _, place, ties = np.unique(both, return_inverse=True, return_counts=True)
    n, ours, theirs = len(both), len(a), len(b)
    if min(ours, theirs) <= COUNTED_OUT and ties.max() == 1:
        from scipy.stats import mannwhitneyu  # noqa: PLC0415  as said above

        return float(mannwhitneyu(a, b).pvalue)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[place]
    wins = float(ranks[:ours].sum()) - ours * (ours + 1) / 2
    wins = max(wins, ours * theirs - wins)
    tied = float((ties.astype(np.float64) ** 3 - ties).sum())
    variance = ours * theirs / 12 * (n + 1 - tied / (n * (n - 1)))
    if variance <= 0:
        return 1.0
    z = (wins - ours * theirs / 2 - 0.5) / math.sqrt(variance)
    return min(1.0, math.erfc(z / math.sqrt(2)))


def compare_all(
    series: Mapping[str, Floats], baseline: str, seed: int = 1
) -> dict[str, Comparison]:
    """Compare every series with the one named `baseline`; p is corrected by Holm's method."""
    return family(
        {
            name: compare(values, series[baseline], seed)
            for name, values in series.items()
            if name != baseline
        }
    )


def family(alone: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """Return comparisons that are read together, with p corrected for their number."""
    corrected = holm([found.p for found in alone.values()])
    return {
        name: replace(found, p_holm=p)
        for (name, found), p in zip(alone.items(), corrected, strict=True)
    }


def certainty(found: Comparison) -> str:
    """Return Cliff's delta and the corrected p of a comparison, in words."""
    p = "< 0.001" if found.p_holm < 0.001 else f"= {found.p_holm:.3f}"
    return f"Cliff's delta {found.delta.value:+.2f}, p {p}"


def holm(ps: list[float]) -> list[float]:
    """Return p values corrected for their number (Holm 1979, Scandinavian J. Statistics 6:65)."""
    order = sorted(range(len(ps)), key=lambda index: ps[index])
    found, largest = [0.0] * len(ps), 0.0
    for place, index in enumerate(order):
        largest = max(largest, ps[index] * (len(ps) - place))
        found[index] = min(1.0, largest)
    return found


def _apart(values: Floats) -> Floats:
    return values[:: block_length(len(values))]
