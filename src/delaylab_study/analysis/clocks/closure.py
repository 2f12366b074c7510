"""Loops of machines: their clocks, compared pair by pair, lead back to where they began.

The offsets of A to B, B to C and C to A add up to nothing. What is left of the sum lies within the
bounds of the three if all three hold. The sum says nothing of delays that differ by direction in a
way that cancels out around the loop: that a loop closes is no proof, that it does not is an alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from delaylab_study.analysis.clocks.exchanges import Exchanges
from delaylab_study.analysis.clocks.fit import Fit, fit
from delaylab_study.analysis.clocks.line import Nanoseconds

NOTHING = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Closure:
    """A loop over three clocks: `left_ns` is what is left of the sum of offsets, in ns.

    `bound_ns` is the sum of the three comparisons' bounds.
    """

    clocks: tuple[str, str, str]
    left_ns: float
    bound_ns: float

    @property
    def closes(self) -> bool:
        """Return True if what is left lies within the bounds."""
        return abs(self.left_ns) <= self.bound_ns


def closures(compared: Sequence[Exchanges]) -> list[Closure]:
    """Return the loop over each three clocks that were compared pair by pair."""
    fits = [fit(each.pair(each.clock), NOTHING, least_ns=each.least_ns) for each in compared]
    known = [(each, found) for each, found in zip(compared, fits, strict=True) if found.parts]
    clocks = list(dict.fromkeys(c for each, _ in known for c in (each.reference, each.clock)))
    return [
        found for three in combinations(clocks, 3) if (found := _closure(three, known)) is not None
    ]


def _closure(
    clocks: tuple[str, str, str], known: Sequence[tuple[Exchanges, Fit]]
) -> Closure | None:
    """Return the loop over three clocks, None if two of them were not compared."""
    steps = list(_steps(clocks, known))
    if len(steps) < 3:
        return None
    first = steps[0]
    part = max(first.parts, key=lambda each: each.end_ns - each.start_ns)
    begin = np.array([(part.start_ns + part.end_ns) // 2])
    if first.reference != clocks[0]:
        begin = part.line.forward(begin)
    times = begin
    for (source, _), each in zip(pairwise((*clocks, clocks[0])), steps, strict=True):
        times = converted(each, source, times)
    # Each conversion rounds to a whole ns.
    bound = sum(each.bound_ns for each in steps) + len(steps)
    return Closure(clocks, float(times[0] - begin[0]), bound)


def _steps(clocks: tuple[str, str, str], known: Sequence[tuple[Exchanges, Fit]]) -> Iterator[Fit]:
    for one, other in pairwise((*clocks, clocks[0])):
        yield from (found for each, found in known if each.joins(one, other))


def converted(fit: Fit, source: str, times_ns: Nanoseconds) -> Nanoseconds:
    """Convert times of one clock of a fit to the other; each by the part that it lies in."""
    starts = np.array([part.start_ns for part in fit.parts])
    if source != fit.reference:
        ends = zip(starts.tolist(), fit.parts, strict=True)
        starts = np.concatenate([part.line.forward(np.array([start])) for start, part in ends])
    places = np.clip(np.searchsorted(starts, times_ns, side="right") - 1, 0, None)
    out = times_ns.copy()
    for number, part in enumerate(fit.parts):
        here = places == number
        line = part.line
        out[here] = (line.forward if source == fit.reference else line.back)(times_ns[here])
    return out
