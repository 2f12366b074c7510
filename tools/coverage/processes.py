"""Simulated delays with known truth: autocorrelated, with two kinds of tails, in trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]
Random = np.random.Generator

# Packets before a series begins, in which it forgets where it started.
FORGOTTEN = 200
# Packets from which the truth of a process without a formula is taken: series, and length of each.
TRUTH = (2000, 1000)
TAIL = 2.5
"""Tail index of the Pareto distribution: its variance is finite, its third moment is not."""
SLOWER = 1.5
"""Factor between two processes whose difference is estimated."""


def autoregressive(shocks: Floats, kept: float) -> Floats:
    """Return series (last axis) in which each value is `kept` times the last one plus a shock."""
    return np.asarray(lfilter([1.0], [1.0, -kept], shocks)[..., FORGOTTEN:])


def log_normal(random: Random, count: int, n: int, kept: float) -> Floats:
    """Return series whose logarithms are Gaussian and autoregressive."""
    shocks = random.normal(0, np.sqrt(1 - kept**2), (count, n + FORGOTTEN))
    return np.asarray(np.exp(0.5 * autoregressive(shocks, kept)))


def pareto(random: Random, count: int, n: int, kept: float) -> Floats:
    """Return autoregressive series with Pareto shocks: sudden jumps that fade away."""
    return autoregressive(1 + random.pareto(TAIL, (count, n + FORGOTTEN)), kept)


def queue_and_noise(random: Random, count: int, n: int, kept: float) -> Floats:
    """Return log-normal series of a slow and a fast part, as the quickstart's RTTs under CPU load.

    Autocorrelations of their logarithms are 0.68, 0.48 and 0.32 at lags 1, 5 and 10.
    """
    slow = autoregressive(random.normal(0, np.sqrt(1 - kept**2), (count, n + FORGOTTEN)), kept)
    fast = random.normal(size=slow.shape)
    return np.asarray(np.exp(0.5 * (np.sqrt(0.735) * slow + np.sqrt(0.265) * fast)))


@dataclass(frozen=True)
class Process:
    """A process of delays; `trials` of `n` packets each, whose levels vary by `apart`."""

    name: str
    draw: Callable[[Random, int, int, float], Floats]
    kept: float
    n: int
    trials: int = 1
    apart: float = 0.0

    def run(self, random: Random) -> list[Floats]:
        """Return one series for each trial."""
        level = np.exp(self.apart * random.normal(size=(self.trials, 1)))
        return list(level * self.draw(random, self.trials, self.n, self.kept))


@dataclass(frozen=True)
class Truth:
    """The truth about a process: its quantiles, and Cliff's delta of one `SLOWER` times as slow."""

    quantiles: dict[float, float]
    delta: float


QUANTILES = (0.5, 0.9, 0.99)


@cache
def truth(process: Process) -> Truth:
    """Return the truth about a process, from millions of packets of its own."""
    return _truth(process.draw, process.kept, process.apart)


@cache
def _truth(draw: Callable[[Random, int, int, float], Floats], kept: float, apart: float) -> Truth:
    random = np.random.default_rng(20)
    series = draw(random, *TRUTH, kept) * np.exp(apart * random.normal(size=(TRUTH[0], 1)))
    ordered = np.sort(series, axis=None)
    found = {q: float(np.quantile(ordered, q)) for q in QUANTILES}
    below = np.searchsorted(ordered, SLOWER * ordered[:: len(ordered) // 100_000]) / len(ordered)
    return Truth(found, float(2 * below.mean() - 1))
