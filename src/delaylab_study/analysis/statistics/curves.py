"""Distributions reduced to few points, for charts of data of any size."""

from __future__ import annotations

import numpy as np

from delaylab_study.analysis.statistics.runs import Floats

POINTS = 400
GRID = 160
# Largest number of packets that a density is made of.
SMOOTHED = 2000


def ecdf(values: Floats, points: int = POINTS) -> tuple[Floats, Floats]:
    """Return delays and the share of packets at or below them, at most `points` of them."""
    if len(values) == 0:
        return np.zeros(0), np.zeros(0)
    count = min(points, len(values))
    shares = np.arange(1, count + 1) / count
    return np.quantile(values, shares, method="inverted_cdf"), shares


def log_density(values: Floats) -> tuple[Floats, Floats]:
    """Return delays and the density of their decimal logarithm; delays of 0 or less are left out.

    The density is by a Gaussian kernel of Scott's bandwidth, from at most `SMOOTHED` packets at
    equal distances in the series.
    """
    positive = values[values > 0]
    logs = np.log10(positive[:: max(1, -(-len(positive) // SMOOTHED))])
    if len(logs) < 3 or np.ptp(logs) == 0:
        return np.zeros(0), np.zeros(0)
    grid = np.linspace(logs.min() - 0.2, logs.max() + 0.2, GRID)
    return 10**grid, _density(logs, grid)


def _density(values: Floats, grid: Floats) -> Floats:
    """Return the density on a grid, as scipy's gaussian_kde does, which takes a second to load."""
    width = float(values.std(ddof=1)) * len(values) ** (-1 / 5)
    apart = (grid[:, None] - values[None, :]) / width
    return np.asarray(np.exp(-(apart**2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))
