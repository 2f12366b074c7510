"""Distributions reduced to few points, for charts of data of any size."""

from __future__ import annotations

import numpy as np

from delaylab.analysis.statistics.quantiles import RESAMPLED, Floats

POINTS = 400
GRID = 160


def ecdf(values: Floats, points: int = POINTS) -> tuple[Floats, Floats]:
    """Return delays and the share of packets at or below them, at most `points` of them."""
    if len(values) == 0:
        return np.zeros(0), np.zeros(0)
    count = min(points, len(values))
    shares = np.arange(1, count + 1) / count
    return np.quantile(values, shares, method="inverted_cdf"), shares


def log_density(values: Floats) -> tuple[Floats, Floats]:
    """Return delays and the density of their decimal logarithm; delays of 0 or less are left out.

    The density is by a Gaussian kernel of Scott's bandwidth, from at most `RESAMPLED` packets at
    equal distances in the series.
    """
    positive = values[values > 0]
    logs = np.log10(positive[:: max(1, -(-len(positive) // RESAMPLED))])
    if len(logs) < 3 or np.ptp(logs) == 0:
        return np.zeros(0), np.zeros(0)
    from scipy.stats import gaussian_kde  # noqa: PLC0415  takes a second to load, and few need it

    grid = np.linspace(logs.min() - 0.2, logs.max() + 0.2, GRID)
    return 10**grid, np.asarray(gaussian_kde(logs)(grid))
