"""Variation of any statistic, from its influence function.

The influence of a delay is what the statistic gains per share of packets with this delay that are
added (Hampel 1974, JASA 69:383). To first order a statistic is the mean of the influences of its
packets, so it varies as that mean does: by their variance and their memory. Where trials repeat, it
also varies by what leaving some of them out changes: the jackknife (Shao and Wu 1989, Annals of
Statistics 17:1176).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from delaylab_study.analysis.statistics.memory import autocorrelation_times, ranks
from delaylab_study.analysis.statistics.quantiles import BEYOND
from delaylab_study.analysis.statistics.runs import Floats, Run, spread, whole

Statistic = Callable[[list[Floats]], Floats]
"""Function of one array per series, its last axis the packets, to one value per leading index."""

# Largest number of packets of a series whose statistic is computed, and of delays that are added.
KEPT, ADDED = 1000, 100
# Largest number of values in one call of a statistic.
AT_ONCE = 4_000_000
# Share of packets that are added, in standard errors of a share.
ERRORS = 1.0
MOST_ADDED = 0.3
# Largest mean of the influences, in their standard deviations.
UNBALANCED = 0.4
# Share of packets that carry the variance, below which a statistic is one of a tail.
TAIL = 0.25

# Largest number of subsets of trials for which a statistic is computed.
SUBSETS = 300

Variation = tuple[float, float]
"""A variance and its degrees of freedom."""


def among_packets(runs: Sequence[Run], of: Statistic) -> list[Variation]:
    """Return the variation of a statistic by the packets of each run."""
    kept = [(values := whole(run))[spread(len(values), KEPT)] for run in runs]
    base = float(of([values[None, :] for values in kept])[0])
    return [_variation(run, index, kept, base, of) for index, run in enumerate(runs)]


def _variation(run: Run, index: int, kept: list[Floats], base: float, of: Statistic) -> Variation:
    """Return the variation by one run; it is infinite if too few packets carry a tail statistic."""
    size = sum(map(len, run))
    time = float(autocorrelation_times([ranks(trial)[None, :] for trial in run])[0])
    points, moved = _influences(index, kept, base, of, ERRORS / math.sqrt(size / time))
    parts = [np.interp(trial, points, moved) for trial in run]
    effective = size / float(autocorrelation_times([part[None, :] for part in parts])[0])
    centred = np.concatenate(parts) - np.mean(np.concatenate(parts))
    variance, fourth = float(np.mean(centred**2)), float(np.mean(centred**4))
    carrying = variance**2 / fourth if fourth > 0 else 1.0
    if effective <= 1 or (carrying < TAIL and carrying * effective < BEYOND):
        return math.inf, 1.0
    return variance / (effective - 1), effective - 1


def _influences(
    index: int, kept: list[Floats], base: float, of: Statistic, share: float
) -> tuple[Floats, Floats]:
    """Return delays of one series in rising order, and the influence of each.

    So many packets are added that they make this share, or fewer where that is too much for the
    statistic to follow: influences of all packets must nearly balance. The order of packets is not
    kept, because no statistic of delays depends on it.
    """
    ours = np.sort(kept[index])
    n = len(ours)
    points = np.unique(ours)
    most = max(8, min(ADDED, AT_ONCE // sum(map(len, kept))))
    points = points[np.unique(np.linspace(0, len(points) - 1, most).round().astype(np.intp))]
    drawn = [np.broadcast_to(values, (len(points), len(values))) for values in kept]
    place = np.searchsorted(ours, points)[:, None]
    added = max(1, round(n * min(share, MOST_ADDED)))
    while True:
        # Each row is in order, as `ours` is: statistics need not sort it.
        column = np.arange(n + added)
        drawn[index] = ours[np.minimum(column, np.maximum(column - added, place))]
        moved = np.asarray((of(drawn) - base) * (n + added) / added)
        balance = np.interp(ours, points, moved)
        if added == 1 or abs(balance.mean()) <= UNBALANCED * balance.std():
            return points, moved
        added = max(1, added // 2)


def among_trials(runs: Sequence[Run], of: Statistic) -> list[Variation]:
    """Return the variation of a statistic by the trials of each run that has several.

    It is the jackknife's that leaves out half of them: a statistic may jump from trial to trial, as
    the median of few values does, and leaving out one would not tell.
    """
    # Statistics need not sort what is in order, and most series are the same each time.
    everything = [np.sort(whole(run)) for run in runs]
    found = []
    for index, run in enumerate(runs):
        count = len(run)
        if count < 2:
            continue
        out = (count + 1) // 2
        values = []
        for kept in _subsets(count, count - out):
            series = list(everything)
            series[index] = np.concatenate([run[place] for place in kept])
            values.append(float(of([values[None, :] for values in series])[0]))
        found.append((float(np.var(values)) * (count - out) / out, count - 1.0))
    return found


def _subsets(count: int, size: int) -> list[tuple[int, ...]]:
    """Return all subsets of that size of `count` places, or as many as are enough."""
    if math.comb(count, size) <= SUBSETS:
        return list(combinations(range(count), size))
    random = np.random.default_rng(count)
    return [tuple(random.permutation(count)[:size].tolist()) for _ in range(SUBSETS)]
