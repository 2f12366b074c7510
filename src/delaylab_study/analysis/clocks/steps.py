"""Detection of steps: the parts of a trial between which no single line fits two clocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.clocks.hull import Feasible, feasible
from delaylab_study.analysis.clocks.line import ClockLine, Nanoseconds
from delaylab_study.analysis.clocks.pairs import Pair

# Two clocks drift apart by at most 500 ppm, the most that NTP corrects (RFC 5905, section 11.3).
MAX_DRIFT = 500e-6
# While one of them is slewed, that comes on top of it (adjtime(3) in Linux).
MAX_SLEWED = 1000e-6
# Smallest number of crossings each way that a range needs to say anything.
ENOUGH = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """Crossings of both ways in the order of the reference's time, as limits to the offset.

    `upper` is true where the difference limits the offset from above, false where from below.
    Lines through them drift by at most `max_drift`. `least_ns` is what the ways there and back take
    together at least, each the same all the time (`Feasible.shared`).
    """

    time_ns: Nanoseconds
    difference_ns: Nanoseconds
    upper: NDArray[np.bool_]
    max_drift: float = MAX_DRIFT
    least_ns: int = 0

    def pick(self, chosen: NDArray[np.bool_]) -> Limits:
        """Return the limits selected by a mask."""
        return replace(
            self,
            time_ns=self.time_ns[chosen],
            difference_ns=self.difference_ns[chosen],
            upper=self.upper[chosen],
        )

    def fits(self, start: int, end: int) -> bool:
        """Return True if one line fits the limits from `start` up to but not including `end`."""
        upper = self.upper[start:end]
        if upper.all() or not upper.any():
            return True
        return self.lines(start, end) is not None

    def lines(self, start: int, end: int) -> Feasible | None:
        """Return the lines that fit the limits from `start` up to but not including `end`."""
        time, difference = self.time_ns[start:end], self.difference_ns[start:end]
        upper = self.upper[start:end]
        above = time[upper], difference[upper]
        below = time[~upper], difference[~upper] + self.least_ns
        found = feasible(above, below, self.max_drift)
        return None if found is None else found.shared(self.least_ns)

    def enough(self, start: int, end: int) -> bool:
        """Return True if a range has at least `ENOUGH` upper and `ENOUGH` lower limits."""
        above = int(self.upper[start:end].sum())
        return min(above, end - start - above) >= ENOUGH


def limits(pair: Pair, least_ns: int = 0) -> Limits:
    """Return the limits of both directions of a pair as one series."""
    time = np.concatenate([pair.upper.reference_ns, pair.lower.reference_ns])
    difference = np.concatenate([pair.upper.difference_ns, pair.lower.difference_ns])
    upper = np.arange(len(time)) < len(pair.upper)
    order = np.argsort(time, kind="stable")
    return Limits(time[order], difference[order], upper[order], least_ns=least_ns)


def parts(series: Limits, most: int) -> list[tuple[int, int]] | None:
    """Return the ranges of `series` that surely lie between two steps; None for over `most`.

    Walking forward, each part ends where no line fits any more; walking backward, it begins there.
    The step lies between the two, and the limits there belong to no part.
    """
    n = len(series.time_ns)
    ends = _walk(series.fits, n, most)
    if ends is None:
        return None
    back = _walk(lambda start, end: series.fits(n - end, n - start), n, most)
    if back is None or len(back) != len(ends):
        return None
    begins = [0, *ends[:-1]]
    stops = [n - end for end in reversed([0, *back[:-1]])]
    return list(zip(begins, stops, strict=True))


def _walk(fits: Callable[[int, int], bool], n: int, most: int) -> list[int] | None:
    """Return the ends of the longest fitting ranges from 0 to n; None for over `most`."""
    ends: list[int] = []
    start = 0
    while start < n:
        if len(ends) == most:
            return None
        good, step = start + 1, 64
        while good < n and fits(start, min(n, start + step)):
            good = min(n, start + step)
            step *= 2
        bad = min(n + 1, start + step)
        if good < n:
            good = _last_good(fits, start, good, bad)
        ends.append(good)
        start = good
    return ends


def _last_good(fits: Callable[[int, int], bool], start: int, good: int, bad: int) -> int:
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(start, middle):
            good = middle
        else:
            bad = middle
    return good


def settled(series: Limits, most: int) -> tuple[Limits, list[tuple[int, int]]]:
    """Return the limits and their ranges between steps; no range if there are over `most` steps.

    A few limits that contradict many (a stamp out of order, a packet under way while the clock was
    set) make no range of their own: they are taken out.
    """
    for _ in range(most):
        ranges = parts(series, 2 * most + 1)
        if ranges is None:
            break
        small = [each for each in ranges if not series.enough(*each)]
        if not small:
            return series, ranges if len(ranges) <= most + 1 else []
        kept = np.ones(len(series.time_ns), dtype=np.bool_)
        for start, end in small:
            kept[min(start, end) : max(start, end)] = False
        series = series.pick(kept)
    return series, []


Known = tuple[tuple[int, int], ClockLine]


def change(series: Limits, before: Known, after: Known) -> int:
    """Return the first position whose limits the second line explains better than the first line.

    Each limit lies away from its line by some delay. It belongs to the line whose usual distance is
    closer to its own.
    """
    low, high = sorted((before[0][1], after[0][0]))
    if low == high:
        return min(low, len(series.time_ns) - 1)
    cost = np.zeros(high - low)
    for upper in (True, False):
        here = np.flatnonzero(series.upper[low:high] == upper) + low
        cost[here - low] = _unusual(series, here, before, upper)
        cost[here - low] -= _unusual(series, here, after, upper)
    return low + int(np.argmin(np.concatenate(([0.0], np.cumsum(cost)))[:-1]))


def _unusual(
    series: Limits, here: NDArray[np.intp], known: Known, upper: bool
) -> NDArray[np.float64]:
    (start, end), line = known
    inside = np.flatnonzero(series.upper[start:end] == upper) + start

    def away(at: NDArray[np.intp]) -> NDArray[np.float64]:
        difference = series.difference_ns[at] - line.base_ns
        return np.asarray(difference - line.offset(series.time_ns[at]), dtype=np.float64)

    return np.abs(away(here) - np.median(away(inside)))
