"""Quantiles of delays, with intervals that allow for autocorrelation.

Neighbouring round-trip times share a queue, so they are resampled in blocks: the moving-block
bootstrap (Künsch 1989, Annals of Statistics 17:1217), block length n^(1/3) (Hall, Horowitz and Jing
1995, Biometrika 82:561). Above `RESAMPLED` samples nothing is redrawn: the variance of the
empirical distribution under the same bootstrap has a closed form, and gives the ranks between which
the quantile lies (Woodruff 1952, JASA 47:635). Intervals are 95 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLED = 2000
REDRAWS = 500
LEVEL = 0.95
# A quantile above p99 is given only if this many samples are expected beyond it.
BEYOND = 10
_Z = 1.959964

Floats = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Quantile:
    """Quantile in µs with its 95 % interval, or None and the reason.

    `at_most` is the upper limit in µs of a quantile that was refused for its bound.
    """

    value: float | None
    interval: Interval | None
    why: str = ""
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of the delays of n packets, in µs."""

    n: int
    median: Quantile
    p90: Quantile
    p99: Quantile
    p999: Quantile
    max: float | None


_QUANTILES = (0.5, 0.9, 0.99, 0.999)


def summarise(delay_ns: NDArray[Any], seed: int = 1) -> Summary:
    """Summarise delays given in ns, in the order in which their packets were sent."""
    values = np.asarray(delay_ns, dtype=np.float64) / 1000
    n = len(values)
    if n == 0:
        none = Quantile(None, None, "no packet was seen at both points")
        return Summary(0, none, none, none, none, None)
    points = np.quantile(values, _QUANTILES)
    intervals = quantile_intervals(values, _QUANTILES, seed)
    found = [
        _quantile(q, n, float(point), interval)
        for q, point, interval in zip(_QUANTILES, points, intervals, strict=True)
    ]
    return Summary(n, found[0], found[1], found[2], found[3], float(values.max()))


def _quantile(q: float, n: int, value: float, interval: Interval) -> Quantile:
    if q <= 0.99:
        return Quantile(value, interval)
    needed = round(BEYOND / (1 - q))
    if n < needed:
        return Quantile(None, None, f"p{100 * q:g} needs {needed} packets, there are {n}")
    return Quantile(value, interval)


def refused(summary: Summary, bound_us: float) -> Summary:
    """Return a summary without the quantiles whose size is below the bound of their error."""
    found = (summary.median, summary.p90, summary.p99, summary.p999)
    median, p90, p99, p999 = (_bounded(quantile, bound_us) for quantile in found)
    return Summary(summary.n, median, p90, p99, p999, summary.max)


def _bounded(found: Quantile, bound_us: float) -> Quantile:
    if found.value is None or abs(found.value) >= bound_us:
        return found
    why = f"smaller than what aligning two clocks leaves open (± {bound_us:.1f} µs)"
    return Quantile(None, None, why, found.value + bound_us)


def spread(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` of n positions in order: a random one of each of equal stretches.

    Every k-th position would be worse: delays follow the timer ticks, and at a regular interval
    every k-th packet can meet the same tick. The same n gives the same positions.
    """
    if n <= most:
        return np.arange(n, dtype=np.intp)
    edges = np.linspace(0, n, most + 1).astype(np.intp)
    return np.random.default_rng(n).integers(edges[:-1], edges[1:]).astype(np.intp)


def block_length(n: int) -> int:
    """Return the block length for n samples: n^(1/3), rounded up."""
    return max(1, int(np.ceil(round(n ** (1 / 3), 9))))


def quantile_intervals(values: Floats, qs: tuple[float, ...], seed: int = 1) -> list[Interval]:
    """Return the 95 % intervals of quantiles of an autocorrelated series."""
    if len(values) > RESAMPLED:
        ordered = np.sort(values)
        return [_ranked_interval(values, ordered, q) for q in qs]
    redrawn = last_axis_quantiles(resample(values, REDRAWS, seed), qs)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(redrawn, (tail, 1 - tail), axis=1)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def resample(values: Floats, times: int, seed: int, length: int | None = None) -> Floats:
    """Return `times` moving-block resamples of a series, one per row.

    `length` is that of a block; without it, `block_length`.
    """
    n = len(values)
    return np.asarray(values[_redraws(n, times, seed, length or block_length(n))])


@lru_cache(maxsize=4)
def _redraws(n: int, times: int, seed: int, length: int) -> NDArray[np.int64]:
    """Return the positions that a resample takes; the many series of a study are equally long."""
    blocks = -(-n // length)
    random = np.random.default_rng(seed)
    starts = random.integers(0, n - length + 1, size=(times, blocks))
    index = (starts[:, :, None] + np.arange(length)).reshape(times, -1)[:, :n]
    index.setflags(write=False)
    return np.asarray(index)


def last_axis_quantiles(values: Floats, qs: tuple[float, ...]) -> Floats:
    """Return what `np.quantile(values, qs, axis=-1)` does, by sorting, which is many times faster.

    numpy sorts with the CPU's vector instructions, and partitions without them.
    """
    ordered = np.sort(values, axis=-1)
    n = ordered.shape[-1]
    found = []
    for q in qs:
        place = q * (n - 1)
        below = int(place)
        low, high = ordered[..., below], ordered[..., min(below + 1, n - 1)]
        share = place - below
        step = high - low
        found.append(low + step * share if share < 0.5 else high - step * (1 - share))
    return np.stack(found)


def _ranked_interval(values: Floats, ordered: Floats, q: float) -> Interval:
    n = len(values)
    length = block_length(n)
    below = np.cumsum(np.concatenate(([0.0], values <= np.quantile(ordered, q))))
    means = (below[length:] - below[:-length]) / length
    spread = _Z * float(np.sqrt(length * means.var() / n))
    ranks = np.clip(((q - spread) * n, (q + spread) * n), 0, n - 1).astype(np.intp)
    return float(ordered[ranks[0]]), float(ordered[ranks[1]])
