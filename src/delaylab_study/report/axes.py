"""Round numbers for the axes of drawings."""

from __future__ import annotations

import math

from delaylab_study.charts.words import MINUS


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from `low` to `high`, `most` and one at most; `high` is the larger."""
    step = _round_step((high - low) / most)
    return [step * index for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _round_step(step: float) -> float:
    """Return the next larger of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)


def tick_words(ns: float, most_ns: float) -> str:
    """Return a round time of an axis in ms, or in µs if the largest one is below 1 ms."""
    unit_ns, unit = (1e6, "ms") if most_ns >= 1e6 else (1e3, "µs")
    return f"{ns / unit_ns:g} {unit}".replace("-", MINUS) if ns else "0"
