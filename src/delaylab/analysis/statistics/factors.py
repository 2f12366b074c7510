"""Rank correlation of delays with the levels of a study's factors, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from delaylab.analysis.statistics.compare import holm
from delaylab.analysis.statistics.quantiles import Floats, block_length

# Largest number of packets that a series counts with, so that long trials do not outweigh short
# ones.
COUNTED = 200

Series = tuple[Mapping[str, str], Floats]


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


def associations(series: Sequence[Series]) -> list[Association]:
    """Return the association with the delay of every level of every factor that has two or more.

    Each series comes with its levels. One packet of each block of n^(1/3) counts, because
    neighbours share a queue, and at most `COUNTED` of a series (Kendall 1945, Biometrika 33:239).
    """
    from scipy.stats import kendalltau  # noqa: PLC0415  takes a second to load, and few need it

    chosen = [(levels, _chosen(values)) for levels, values in series if len(values)]
    if not chosen:
        return []
    delays = np.concatenate([values for _, values in chosen])
    found: list[Association] = []
    for factor, level in _levels([levels for levels, _ in chosen]):
        has = [np.full(len(v), levels.get(factor) == level) for levels, v in chosen]
        result = kendalltau(np.concatenate(has), delays)
        # Tau is undefined for a delay that never changes; such a delay depends on no level.
        tau, p = (0.0, 1.0) if np.isnan(result.statistic) else (result.statistic, result.pvalue)
        found.append(Association(factor, level, float(tau), float(p), len(delays)))
    corrected = holm([each.p for each in found])
    return [
        Association(each.factor, each.level, each.tau, p, each.n)
        for each, p in zip(found, corrected, strict=True)
    ]


def _chosen(values: Floats) -> Floats:
    apart = max(block_length(len(values)), -(-len(values) // COUNTED))
    return values[::apart]


def _levels(series: list[Mapping[str, str]]) -> list[tuple[str, str]]:
    found: dict[str, dict[str, None]] = {}
    for levels in series:
        for factor, level in levels.items():
            found.setdefault(factor, {})[level] = None
    return [(f, level) for f, levels in found.items() if len(levels) > 1 for level in levels]
