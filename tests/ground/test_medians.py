"""Intervals of medians cover the truth about as often as they say, also if neighbours are alike."""

from __future__ import annotations

import math
import random

import pytest

from delaylab.verdicts.medians import correlation_time, median_of

SETS = 400


def series(draw: random.Random, n: int, memory: float) -> list[float]:
    """Return n normal values of median 0, each as like the one before it as `memory` says."""
    values = [draw.gauss(0, 1)]
    new = math.sqrt(1 - memory**2)
    while len(values) < n:
        values.append(memory * values[-1] + new * draw.gauss(0, 1))
    return values


@pytest.mark.parametrize(
    ("n", "memory", "least"), [(20, 0.0, 0.92), (200, 0.0, 0.92), (200, 0.6, 0.9), (1000, 0.9, 0.9)]
)
def test_intervals_cover_the_median(n: int, memory: float, least: float) -> None:
    draw, covered = random.Random(58), 0
    for _ in range(SETS):
        found = median_of(series(draw, n, memory))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0 <= found.high
    assert least <= covered / SETS <= 0.995


def test_alike_neighbours_are_worth_less() -> None:
    assert correlation_time([True, False] * 50) == 1.0
    assert correlation_time([True] * 50 + [False] * 50) > 10
    assert correlation_time([True] * 9) == 1.0


def test_too_few_values_have_no_interval() -> None:
    assert median_of([]) is None
    few = median_of([3.0, 1.0, 2.0])
    assert few is not None
    assert few.as_json() == {"n": 3, "median": 2.0, "low": None, "high": None}
    six = median_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert six is not None
    assert (six.low, six.high) == (1.0, 6.0)
