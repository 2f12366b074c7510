"""Fit of one clock to another: the line between them by both methods, in parts between changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.clocks.changes import ClockChange, between, meeting
from delaylab_study.analysis.clocks.hull import Feasible
from delaylab_study.analysis.clocks.least_squares import LeastSquares, least_squares, residual
from delaylab_study.analysis.clocks.line import ClockLine
from delaylab_study.analysis.clocks.pairs import Loops, Pair, loops
from delaylab_study.analysis.clocks.steps import (
    ENOUGH,
    MAX_DRIFT,
    MAX_SLEWED,
    Limits,
    limits,
    settled,
)

# A clock that was set more often than this cannot be aligned to anything.
MOST_STEPS = 8
# Drifts beyond `MAX_DRIFT`, up to this one, are reported as drift and not taken for steps.
_ANY_DRIFT = 0.1
# If half of a part leaves its lines this many times the freedom that the whole part leaves them, a
# small step or slew may be hidden in the part.
_FREER = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPart:
    """A stretch of the reference's time without a step or slew, over which one line holds.

    `bound_ns` is the largest error of the line anywhere in the part. `residual_ns` is the root mean
    square distance of the packets at rest from the line. `squares` is the least-squares line
    through the packets at rest, or None; `apart_ns` is its largest distance from this line, and
    `disagree` is true if it leaves the bound.
    """

    start_ns: int
    end_ns: int
    line: ClockLine
    bound_ns: float
    residual_ns: float | None
    squares: LeastSquares | None
    apart_ns: float | None
    disagree: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """The alignment of `clock` to `reference`; without parts it failed, for the reason `why`.

    `ignored` counts crossings that were left out because they contradict all others around them.
    """

    clock: str
    reference: str
    parts: list[FitPart]
    changes: list[ClockChange]
    ignored: int = 0
    why: str = ""

    @property
    def bound_ns(self) -> float:
        """Return the largest error of the alignment in any part, in ns; infinite without parts."""
        return max((part.bound_ns for part in self.parts), default=np.inf)


Span = tuple[int, int]
"""First and last time of the reference that are of interest."""


def fit(pair: Pair, at_rest: NDArray[np.intp], span: Span | None = None, least_ns: int = 0) -> Fit:
    """Align `pair.clock` to `pair.reference`; `at_rest` are the rows of packets sent at rest.

    Bounds hold for the times in `span`, also before the first limit and after the last, where the
    lines lead apart; without it, for all times between the two. `least_ns` is what the ways there
    and back surely take together, each the same all the time; it is not used if no lines fit it.
    """
    few = min(len(pair.upper), len(pair.lower))
    if few < ENOUGH:
        return _unaligned(pair, f"only {few} packets crossed both ways, {ENOUGH} are needed")
    plain = limits(pair)
    n = len(plain.time_ns)
    if not plain.fits(0, n):
        too_fast = replace(plain, max_drift=_ANY_DRIFT).lines(0, n)
        if too_fast is not None:
            low, high = too_fast.drifts()
            least, most = min(abs(low), abs(high)) * 1e6, MAX_DRIFT * 1e6
            return _unaligned(
                pair, f"they drift apart by at least {least:.0f} ppm, over {most:.0f} ppm"
            )
    series, ranges = _ranges(limits(pair, least_ns))
    if not ranges and least_ns:
        series, ranges = _ranges(plain)
    if not ranges:
        why = f"no line fits, and no {MOST_STEPS} changes explain it: one of them runs unevenly"
        return _unaligned(pair, why)
    both = loops(pair)
    spans = _spans(len(ranges), span)
    found = [
        _part(series, each, both, at_rest, its) for each, its in zip(ranges, spans, strict=True)
    ]
    changes, found = _joined(series, ranges, found)
    return Fit(pair.clock, pair.reference, found, changes, n - len(series.time_ns))


def _ranges(series: Limits) -> tuple[Limits, list[tuple[int, int]]]:
    """Return the limits, less the few that contradict the others, and the ranges that lines fit."""
    n = len(series.time_ns)
    if series.fits(0, n):
        return series, [(0, n)]
    return settled(replace(series, max_drift=MAX_SLEWED), MOST_STEPS)


def _unaligned(pair: Pair, why: str) -> Fit:
    return Fit(pair.clock, pair.reference, [], [], why=why)


def _spans(parts: int, span: Span | None) -> list[tuple[int | None, int | None]]:
    """Return for each part where its span is known to begin and to end, None for as the part does.

    The first part is also that of all times before it, the last one of all times after it.
    """
    begin, end = span or (None, None)
    return [
        (begin if each == 0 else None, end if each == parts - 1 else None) for each in range(parts)
    ]


def _part(
    series: Limits,
    where: tuple[int, int],
    both: Loops,
    at_rest: NDArray[np.intp],
    span: tuple[int | None, int | None],
) -> FitPart:
    lines = series.lines(*where)
    assert lines is not None
    line = lines.line()
    inside = both.pick((both.first_ns >= lines.start_ns) & (both.last_ns <= lines.end_ns))
    resting = inside.pick(np.isin(inside.rows, at_rest))
    begin, end = span
    start_ns = lines.start_ns if begin is None else min(begin, lines.end_ns)
    end_ns = lines.end_ns if end is None else max(end, lines.start_ns)
    ends = np.array([start_ns, end_ns])
    fastest = float(inside.took_ns.min()) if len(inside.rows) else 0.0
    bounds = np.maximum(lines.bound(ends), fastest / 2)
    if series.least_ns and (start_ns < lines.start_ns or end_ns > lines.end_ns):
        bounds = np.maximum(bounds, _beyond(series, where, line, ends))
    squares = least_squares(resting)
    apart_ns, disagree = _compared(line, squares, ends, bounds)
    return FitPart(
        start_ns=lines.start_ns,
        end_ns=lines.end_ns,
        line=line,
        # If a step is hidden in this part, the lines on both its sides still lie between the stamps
        # of the fastest packet: its round trip limits what the halves can add to the bound.
        bound_ns=max(float(bounds.max()), min(fastest, _by_halves(series, where, lines))),
        residual_ns=residual(line, resting),
        squares=squares,
        apart_ns=apart_ns,
        disagree=disagree,
    )


def _beyond(
    series: Limits, where: tuple[int, int], line: ClockLine, ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the largest error of the line in ns at times outside of the limits.

    Clocks wander, which the limits show while there are some. Therefore a line that leads beyond
    them has the freedom that it has without the least time of both ways.
    """
    lines = replace(series, least_ns=0).lines(*where)
    assert lines is not None
    other = lines.line()
    apart = other.offset(ends) + (other.base_ns - line.base_ns) - line.offset(ends)
    return np.asarray(np.abs(apart) + lines.bound(ends), dtype=np.float64)


def _by_halves(series: Limits, where: tuple[int, int], whole: Feasible) -> float:
    """Return the largest error of the line in ns if each half has a line of its own, or 0.

    A step or slew smaller than the bound goes unseen, but it constrains the line and makes the
    bound look tighter than it is. It shows in the halves, which then leave their lines more freedom
    than the whole does.
    """
    middle = (where[0] + where[1]) // 2
    line = whole.line()
    freer, off = 0.0, 0.0
    for half in ((where[0], middle), (middle, where[1])):
        own = series.lines(*half) if series.enough(*half) else None
        if own is None:
            return 0.0
        ends = np.array([own.start_ns, (own.start_ns + own.end_ns) // 2, own.end_ns])
        apart = np.abs(own.line().offset(ends) + (own.base_ns - line.base_ns) - line.offset(ends))
        bound = own.bound(ends)
        freer = max(freer, float(bound[1] / whole.bound(ends)[1]))
        off = max(off, float((apart + bound).max()))
    return off if freer > _FREER else 0.0


def _compared(
    line: ClockLine,
    squares: LeastSquares | None,
    ends: NDArray[np.int64],
    bounds: NDArray[np.float64],
) -> tuple[float | None, bool]:
    if squares is None:
        return None, False
    bases = squares.line.base_ns - line.base_ns
    apart = np.abs(squares.line.offset(ends) + bases - line.offset(ends))
    return float(apart.max()), bool((apart > bounds).any())


def _joined(
    series: Limits, ranges: list[tuple[int, int]], found: list[FitPart]
) -> tuple[list[ClockChange], list[FitPart]]:
    """Return the changes between the parts, and the parts, extended to where they meet in slews."""
    lines = [series.lines(*each) for each in ranges]
    small = _small(series, ranges)
    changes: list[ClockChange] = []
    parts = list(found)
    for index, (before, after) in enumerate(pairwise(lines)):
        assert before is not None
        assert after is not None
        met = meeting(before, after)
        change = between(series, (ranges[index], ranges[index + 1]), (before, after), met)
        changes.append(replace(change, small=small[index]))
        if change.kind == "slew":
            first, second = parts[index], parts[index + 1]
            bounds = max(first.bound_ns, met.bound_ns(0)), max(second.bound_ns, met.bound_ns(1))
            parts[index] = replace(first, end_ns=change.time_ns, bound_ns=bounds[0])
            parts[index + 1] = replace(second, start_ns=change.time_ns + 1, bound_ns=bounds[1])
    return changes, parts


def _small(series: Limits, ranges: list[tuple[int, int]]) -> list[bool]:
    """Return for each change between two ranges whether one line fits both without the least time.

    Changes that are small one by one are not if no line fits all ranges.
    """
    plain = replace(series, max_drift=MAX_DRIFT, least_ns=0)
    found = [plain.fits(before[0], after[1]) for before, after in pairwise(ranges)]
    if all(found) and len(found) > 1 and not plain.fits(ranges[0][0], ranges[-1][1]):
        return [False] * len(found)
    return found
