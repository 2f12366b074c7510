"""Comparison of two conditions: size and significance of the difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delaylab_study.analysis.statistics.effects import (
    Effect,
    Placed,
    among_placements,
    decile_shifts,
    dominance_of,
    placed,
)
from delaylab_study.analysis.statistics.quantiles import FEWEST
from delaylab_study.analysis.statistics.runs import Floats, Series, as_run, whole
from delaylab_study.analysis.statistics.student import combined, p_value


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The difference between runs `a` and `b`, with 95 % intervals.

    `shift` is the difference of the medians and `deciles` that at each decile, in the samples'
    unit. `delta` is Cliff's delta, P(a > b) - P(a < b). `p` is of the two-sided Mann-Whitney test
    on effective samples.
    """

    n: tuple[int, int]
    medians: tuple[float, float]
    shift: Effect
    deciles: dict[float, Effect]
    delta: Effect
    p: float


def compare(a: Series, b: Series) -> RunDifference:
    """Compare two runs that have packets.

    A run is one series for each trial, in the order of sending; a plain series is one trial.
    """
    ours, theirs = as_run(a), as_run(b)
    pooled = whole(ours), whole(theirs)
    sides = placed(ours, theirs), placed(theirs, ours)
    deciles = decile_shifts(ours, theirs)
    return RunDifference(
        n=(len(pooled[0]), len(pooled[1])),
        medians=(float(np.median(pooled[0])), float(np.median(pooled[1]))),
        shift=deciles[0.5],
        deciles=deciles,
        delta=dominance_of(*sides),
        p=mann_whitney(*sides, ties(np.concatenate(pooled))),
    )


def mann_whitney(ours: Placed, theirs: Placed, tied: float) -> float:
    """Return p of the two-sided Mann-Whitney test on effective samples.

    In place of the numbers of packets stand the effective sample sizes (`memory`), and Student's
    distribution in place of the normal one. Where trials repeat, p is at least that of Welch's test
    of the trials. It is 1 if there are fewer than `FEWEST` packets. `tied` is the share of the
    variance that ties leave.
    """
    delta = float(whole(ours.trials).mean())
    sides = ours, theirs
    if tied == 0 or min(side.n for side in sides) < FEWEST:
        return 1.0
    # The variance of a placement between -1 and 1 is a third if the two distributions are one.
    error, freedom = combined([(tied / 3 / side.effective, side.effective - 1) for side in sides])
    p = p_value(delta / error, freedom)
    among, trials = among_placements(ours, theirs)
    return max(p, p_value(delta / among, trials)) if among else p


def ties(values: Floats) -> float:
    """Return the share of the variance of ranks that ties leave: 1 if there are none."""
    n = len(values)
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return 1 - float((counts**3 - counts).sum()) / (n**3 - n) if n > 1 else 0.0


def holm(ps: list[float]) -> list[float]:
    """Return p values corrected for their number (Holm 1979, Scandinavian J. Statistics 6:65)."""
    order = sorted(range(len(ps)), key=lambda index: ps[index])
    found, largest = [0.0] * len(ps), 0.0
    for place, index in enumerate(order):
        largest = max(largest, ps[index] * (len(ps) - place))
        found[index] = min(1.0, largest)
    return found
