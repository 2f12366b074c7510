"""Medians with intervals, for values that neighbours share a part of, without tables.

The interval lies between two ranks (Woodruff 1952, JASA 47:635): those at which the share of values
below differs from a half by what chance allows so many independent values as these are worth. That
is their number divided by the integrated autocorrelation time of *below the median or not*, summed
over Geyer's initial positive sequence (1992, Statistical Science 7:473).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

FEWEST = 6
"""The fewest values whose range covers a median in 95 of 100 cases."""
Z = statistics.NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class MedianWithInterval:
    """The median of n values, and its 95 % interval; None if they are too few."""

    n: int
    median: float
    low: float | None
    high: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the median as JSON has it."""
        return asdict(self)


def median_of(values: Sequence[float]) -> MedianWithInterval | None:
    """Return the median of values in the order of their times; None if there are none."""
    n = len(values)
    if not n:
        return None
    median = statistics.median(values)
    if n < FEWEST:
        return MedianWithInterval(n, median, None, None)
    ordered = sorted(values)
    half = Z * math.sqrt(0.25 * correlation_time([each < median for each in values]) / n)
    low = max(0, math.floor(n * (0.5 - half)))
    high = min(n - 1, math.ceil(n * (0.5 + half)) - 1)
    return MedianWithInterval(n, median, ordered[low], ordered[high])


def correlation_time(marks: Sequence[bool]) -> float:
    """Return how many neighbouring marks are worth one that is independent; 1 at least."""
    n, ones = len(marks), sum(marks)
    mean = ones / n
    variance = mean * (1 - mean)
    if not variance:
        return 1.0
    # Each product of marks is one step for all of them, as bits of a whole number.
    bits = int("".join("1" if each else "0" for each in marks), 2)

    def correlation(lag: int) -> float:
        both = (bits & (bits >> lag)).bit_count()
        first, last = (bits >> lag).bit_count(), (bits & ((1 << (n - lag)) - 1)).bit_count()
        return (both - mean * (first + last) + (n - lag) * mean * mean) / (n * variance)

    total = -1.0
    for lag in range(0, n - 1, 2):
        pair = correlation(lag) + correlation(lag + 1)
        if pair <= 0:
            break
        total += 2 * pair
    return max(1.0, total)
