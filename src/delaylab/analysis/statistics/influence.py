"""Variation of any statistic, from its influence function.

The influence of a delay is what the statistic gains per share of packets with this delay that are
added (Hampel 1974, JASA 69:383). To first order a statistic is the mean of the influences of its
packets, so it varies as that mean does: by their variance and their memory. Where trials repeat, it
also varies by what leaving one of them out changes: the jackknife (Tukey 1958).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from delaylab.analysis.statistics.memory import autocorrelation_times, ranks
from delaylab.analysis.statistics.runs import Floats, Run, spread, whole

Statistic = Callable[[list[Floats]], Floats]
"""Function of one array per series, its last axis the packets, to one value per leading index."""

# Largest number of packets of a series whose statistic is computed, and of delays that are added.
KEPT, ADDED = 1000, 100
# Largest number of values in one call of a statistic.
AT_ONCE = 4_000_000
# Standard errors of a share of packets by which the added ones move it: those of an interval's end.
ERRORS = 2.0
MOST_ADDED = 0.3

Variation = tuple[float, float]
"""A variance and its degrees of freedom."""


def among_packets(runs: Sequence[Run], of: Statistic) -> list[Variation]:
    """Return the variation of a statistic by the packets of each run."""
    kept = [(values := whole(run))[spread(len(values), KEPT)] for run in runs]
    base = float(of([values[None, :] for values in kept])[0])
    return [_variation(run, index, kept, base, of) for index, run in enumerate(runs)]


def _variation(run: Run, index: int, kept: list[Floats], base: float, of: Statistic) -> Variation:
    size = sum(map(len, run))
    time = float(autocorrelation_times([ranks(trial)[None, :] for trial in run])[0])
    points, moved = _influences(index, kept, base, of, ERRORS / math.sqrt(size / time))
    parts = [np.interp(trial, points, moved) for trial in run]
    effective = size / float(autocorrelation_times([part[None, :] for part in parts])[0])
    if effective <= 1:
        return math.inf, 1.0
    variance = float(np.concatenate(parts).var()) / (effective - 1)
    return variance, effective - 1


def _influences(
    index: int, kept: list[Floats], base: float, of: Statistic, share: float
) -> tuple[Floats, Floats]:
    """Return delays of one series in rising order, and the influence of each."""
    ours = kept[index]
    n = len(ours)
    share = min(share, MOST_ADDED)
    added = max(1, round(n * share / (1 - share)))
    most = max(8, min(ADDED, AT_ONCE // (added + sum(map(len, kept)))))
    points = np.unique(ours)
    points = points[np.unique(np.linspace(0, len(points) - 1, most).round().astype(np.intp))]
    drawn = [np.broadcast_to(values, (len(points), len(values))) for values in kept]
    drawn[index] = np.hstack([drawn[index], np.repeat(points[:, None], added, axis=1)])
    return points, np.asarray((of(drawn) - base) * (n + added) / added)


def among_trials(runs: Sequence[Run], of: Statistic) -> list[Variation]:
    """Return the variation of a statistic by the trials of each run that has several."""
    everything = [whole(run) for run in runs]
    found = []
    for index, run in enumerate(runs):
        if len(run) < 2:
            continue
        left = []
        for out in range(len(run)):
            series = list(everything)
            series[index] = np.concatenate([*run[:out], *run[out + 1 :]])
            left.append(float(of([values[None, :] for values in series])[0]))
        count = len(run)
        found.append((float(np.var(left)) * (count - 1), count - 1.0))
    return found
