"""Rank correlation of delays with the levels of a study's factors, level by level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from delaylab_study.analysis.statistics.compare import holm, ties
from delaylab_study.analysis.statistics.effects import cliffs_delta
from delaylab_study.analysis.statistics.memory import autocorrelation_times, ranks
from delaylab_study.analysis.statistics.quantiles import FEWEST
from delaylab_study.analysis.statistics.runs import Floats, thinned
from delaylab_study.analysis.statistics.student import combined, p_value

# Largest number of packets that a series counts with, so that long trials do not outweigh short
# ones.
COUNTED = 200

Levels = Mapping[str, str]
Series = tuple[Levels, Floats]


@dataclass(frozen=True, slots=True)
class Association:
    """Kendall's tau-b of a level (1 where a packet had it, else 0) with a delay.

    At +1 all packets with this level were slower than all without. `n` packets counted. `p` is of
    the test that tau is 0, corrected by Holm's method for all levels tested together.
    """

    factor: str
    level: str
    tau: float
    p: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """Ranks of the packets of all series, scaled to lie between -1 and 1.

    Each series has its levels, the mean of its ranks, its size and its effective sample size.
    `pairs` counts the pairs of packets with unlike delays. `tied` is the share of the variance of
    ranks that ties leave. `among` is the variance of the means of series with the same levels, and
    its degrees of freedom.
    """

    levels: list[Levels]
    means: Floats
    sizes: Floats
    worth: Floats
    pairs: float
    tied: float
    among: tuple[float, int]


def associations(series: Sequence[Series]) -> list[Association]:
    """Return the association with the delay of every level of every factor that has two or more.

    Each series comes with its levels; at most `COUNTED` of its packets count (Kendall 1945,
    Biometrika 33:239). The test of a level is Mann and Whitney's of the packets with it and
    without, on effective samples. Series with the same levels are repeats: their difference is
    chance, and the test allows for it.
    """
    return associations_in({factor: series for levels, _ in series for factor in levels})


def associations_in(series: Mapping[str, Sequence[Series]]) -> list[Association]:
    """Return the associations of factors, each in series of its own.

    Series in which a factor's levels meet the same levels of all others tell its association from
    theirs.
    """
    found = []
    for factor, given in series.items():
        chosen = [(levels, thinned(values, COUNTED)) for levels, values in given]
        chosen = [(levels, values) for levels, values in chosen if len(values)]
        ranked = _ranked(chosen) if chosen else None
        if ranked is not None:
            of = [level for level in _levels(ranked.levels) if level[0] == factor]
            found += [_association(ranked, *level) for level in of]
    corrected = holm([each.p for each in found])
    return [replace(each, p=p) for each, p in zip(found, corrected, strict=True)]


def tau(with_it: Floats, without: Floats) -> float:
    """Return Kendall's tau-b of a level with the delays of packets with it and without it."""
    n = len(with_it), len(without)
    counts = np.unique(np.concatenate([with_it, without]), return_counts=True)[1].astype(np.float64)
    pairs = (sum(n) * (sum(n) - 1) - float((counts * (counts - 1)).sum())) / 2
    return cliffs_delta(with_it, without) * math.sqrt(n[0] * n[1] / pairs) if pairs else 0.0


def _ranked(chosen: Sequence[Series]) -> _Ranked:
    levels = [levels for levels, _ in chosen]
    sizes = np.array([len(values) for _, values in chosen], dtype=np.float64)
    delays = np.concatenate([values for _, values in chosen])
    n = len(delays)
    scaled = (2 * ranks(delays) - 1) / n - 1
    parts = np.split(scaled, np.cumsum(sizes[:-1]).astype(np.intp))
    times = [float(autocorrelation_times([part[None, :]])[0]) for part in parts]
    means = np.array([part.mean() for part in parts])
    counts = np.unique(delays, return_counts=True)[1].astype(np.float64)
    pairs = (n * (n - 1) - float((counts * (counts - 1)).sum())) / 2
    return _Ranked(
        levels=levels,
        means=means,
        sizes=sizes,
        worth=sizes / times,
        pairs=pairs,
        tied=ties(delays),
        among=_among(levels, means),
    )


def _among(levels: Sequence[Levels], means: Floats) -> tuple[float, int]:
    """Return the variance of the means of series with the same levels, and its freedom."""
    together: dict[tuple[tuple[str, str], ...], list[float]] = {}
    for each, mean in zip(levels, means.tolist(), strict=True):
        together.setdefault(tuple(sorted(each.items())), []).append(mean)
    freedom = sum(len(repeats) - 1 for repeats in together.values())
    squares = sum(float(np.var(repeats)) * len(repeats) for repeats in together.values())
    return (squares / freedom if freedom else 0.0), freedom


def _association(these: _Ranked, factor: str, level: str) -> Association:
    has = np.array([levels.get(factor) == level for levels in these.levels])
    with_it, without = (these.sizes * side for side in (has, ~has))
    n = with_it.sum(), without.sum()
    # Mean ranks, so scaled, differ by Cliff's delta of the packets with the level.
    delta = float(with_it @ these.means / n[0] - without @ these.means / n[1])
    tau = delta * math.sqrt(n[0] * n[1] / these.pairs) if these.pairs else 0.0
    parts = [_variation(side, these) for side in (with_it, without)]
    error, freedom = combined(parts)
    few = min(side.sum() for side in (with_it, without)) < FEWEST
    p = 1.0 if few or not error else p_value(delta / error, freedom)
    variance, freedom = these.among
    if variance:
        weights = (with_it / n[0]) ** 2 + (without / n[1]) ** 2
        p = max(p, p_value(delta / math.sqrt(variance * weights.sum()), freedom))
    return Association(factor, level, tau, p, int(these.sizes.sum()))


def _variation(counted: Floats, these: _Ranked) -> tuple[float, float]:
    """Return the variance of a side's mean rank if the level changes nothing, and its freedom."""
    weights = counted / counted.sum()
    worth = 1 / float((weights**2 / these.worth).sum())
    return these.tied / 3 / worth, worth - 1


def _levels(series: Sequence[Levels]) -> list[tuple[str, str]]:
    found: dict[str, dict[str, None]] = {}
    for levels in series:
        for factor, level in levels.items():
            found.setdefault(factor, {})[level] = None
    return [(f, level) for f, levels in found.items() if len(levels) > 1 for level in levels]
