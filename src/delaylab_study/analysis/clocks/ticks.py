"""Resolution of a clock, learned from its stamps.

A clock may advance in ticks: a stamp then shows the last tick, up to a whole tick before its time.
All differences of its stamps are multiples of the tick.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.analysis.statistics.runs import Floats

# Smallest tick that is told from a clock that shows every nanosecond.
FINEST_NS = 50.0
# Smallest number of short gaps between stamps that a tick is learned from.
ENOUGH = 20
# Share of these gaps that must be multiples of the tick; a clock that was set leaves others.
MULTIPLES = 0.95
# A gap is a multiple if it is one to this part of a tick. Of arbitrary gaps, a quarter is.
_CLOSE = 1 / 8
# Rounding to whole ns, and the largest error of a tick's length: a clock runs up to 500 ppm wrong,
# and as much faster or slower while it is slewed.
_ROUNDING_NS, _UNSTEADY = 2.0, 1e-3
# The smallest gaps, each divided by small numbers, are tried as the tick.
_SMALLEST, _DIVISORS = 10, 4


def tick_ns(stamps_ns: Nanoseconds) -> float:
    """Return the tick of the clock that took these stamps, in ns; 0 if it has none that shows."""
    gaps = np.diff(np.unique(stamps_ns)).astype(np.float64)
    tried = {gap / part for gap in np.unique(gaps)[:_SMALLEST] for part in range(1, _DIVISORS + 1)}
    for tick in sorted(tried, reverse=True):
        if tick < FINEST_NS:
            break
        if _is_tick(tick, gaps):
            return _refined(tick, gaps)
    return 0.0


def _short(tick: float, gaps: Floats) -> NDArray[np.bool_]:
    """Return for each gap whether it is so short that it could be told from an arbitrary one."""
    return np.asarray(_ROUNDING_NS + _UNSTEADY * gaps < _CLOSE * tick)


def _is_tick(tick: float, gaps: Floats) -> bool:
    known = gaps[_short(tick, gaps)]
    if len(known) < ENOUGH:
        return False
    ticks = np.rint(known / tick)
    off = known - ticks * tick
    multiples = np.abs(off) <= _ROUNDING_NS + _UNSTEADY * known
    return bool((multiples & _is_steady(off, ticks)).mean() >= MULTIPLES)


def _is_steady(off_ns: Floats, ticks: Floats) -> NDArray[np.bool_]:
    """Return True for each gap that has ticks as long as its neighbours'.

    A tick changes its length slowly. Packets sent at regular intervals leave multiples of the
    interval, too, but each gap with a deviation of its own.
    """
    around_ns, around = off_ns[:-2] + off_ns[2:], np.maximum(ticks[:-2] + ticks[2:], 1)
    expected = ticks[1:-1] * around_ns / around
    rounding = _ROUNDING_NS * (1 + 2 * ticks[1:-1] / around)
    steady = np.ones(len(off_ns), np.bool_)
    steady[1:-1] = np.abs(off_ns[1:-1] - expected) <= rounding
    return steady


def _refined(tick: float, gaps: Floats) -> float:
    """Return the mean length of the ticks in the short gaps."""
    known = gaps[_short(tick, gaps)]
    return float(known.sum() / np.rint(known / tick).sum())
