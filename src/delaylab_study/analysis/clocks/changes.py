"""Changes of a clock between two parts of its fit: a step (it was set) or a slew (of its rate).

A slew leaves the clock's offset continuous: the lines before and after it meet where it happened. A
step does not: the offset jumps, and the rate stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from delaylab_study.analysis.clocks.hull import Feasible
from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.analysis.clocks.steps import MAX_SLEWED, Limits, change
from delaylab_study.analysis.statistics.runs import Floats

# Number of moments between two parts at which their lines are compared.
_MOMENTS = 257


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of a clock at `time_ns` of the reference, to within `unsure` stamps.

    A `step` is by `size_ns`. A `slew` changes the rate by `rate_ppm`, and the offset goes on where
    it was. `unclear` may be either: so small a step could also be a slew between the stamps. A
    change is `small` if one line would fit the limits on both of its sides, were it not for the
    least time that both ways take: it is below the bound, and it may be one of the network, whose
    directions changed by as much.
    """

    kind: Literal["step", "slew", "unclear"]
    time_ns: int
    size_ns: float
    unsure: int
    rate_ppm: float
    small: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """Lines of two neighbouring parts between the end of the first and the start of the second.

    `apart_ns` is the second less the first; the `bounds_ns` are the largest errors of each, first
    and second.
    """

    times_ns: Nanoseconds
    apart_ns: Floats
    bounds_ns: tuple[Floats, Floats]

    @property
    def nearest(self) -> int:
        """Return the position at which the lines are closest."""
        return int(np.argmin(np.abs(self.apart_ns)))

    def can_meet(self) -> bool:
        """Return True if a clock slewed between the parts could have come from one to the other."""
        beyond = float((np.abs(self.apart_ns) - self.bounds_ns[0] - self.bounds_ns[1]).min())
        return beyond <= MAX_SLEWED * float(self.times_ns[-1] - self.times_ns[0])

    def bound_ns(self, side: Literal[0, 1]) -> float:
        """Return the largest error of one part's line up to where the lines are closest.

        The clock may follow the other line there, or anything between the two.
        """
        here = slice(None, self.nearest + 1) if side == 0 else slice(self.nearest, None)
        other = np.abs(self.apart_ns) + self.bounds_ns[1 - side]
        return float(np.maximum(self.bounds_ns[side], other)[here].max())


def meeting(before: Feasible, after: Feasible) -> Meeting:
    """Return the lines of two parts between them."""
    end = max(after.start_ns, before.end_ns + 1)
    times = np.linspace(0, end - before.end_ns, _MOMENTS).astype(np.int64) + before.end_ns
    bases = after.base_ns - before.base_ns
    apart = after.line().offset(times) - before.line().offset(times) + bases
    return Meeting(times, apart, (before.bound(times), after.bound(times)))


def between(
    series: Limits,
    ranges: tuple[tuple[int, int], tuple[int, int]],
    lines: tuple[Feasible, Feasible],
    met: Meeting,
) -> ClockChange:
    """Return the change between two neighbouring ranges of the limits, which these lines fit."""
    (first, second), (before, after) = ranges, lines
    unsure = max(0, second[0] - first[1])
    rate = (after.line().drift - before.line().drift) * 1e6
    if _is_slew(before, after, met):
        return ClockChange("slew", int(met.times_ns[met.nearest]), 0.0, unsure, rate)
    at = change(series, (first, before.line()), (second, after.line()))
    time = series.time_ns[[at]]
    size = after.line().offset(time) - before.line().offset(time)
    size_ns = float(size[0]) + after.base_ns - before.base_ns
    kind: Literal["step", "unclear"] = "unclear" if met.can_meet() else "step"
    return ClockChange(kind, int(time[0]), size_ns, unsure, rate)


def _is_slew(before: Feasible, after: Feasible, met: Meeting) -> bool:
    """Return True if the lines can meet, and no one rate fits both parts."""
    (low, high), (lowest, highest) = before.drifts(), after.drifts()
    return met.can_meet() and (high < lowest or highest < low)
