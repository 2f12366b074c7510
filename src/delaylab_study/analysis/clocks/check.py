"""Independent check of the alignment against clocks that were read at the same moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delaylab_study.analysis.clocks.align import Alignment
from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.dataset.records.trial import ClockReading


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """The distance of the alignment from `n` direct readings of a clock against another.

    `error_ns` is the distance from the fastest reading. `within_ns` is half of the time between
    that reading's two looks at the reference: the uncertainty of its moment. `agrees` is true if
    every reading lies no further away than its own uncertainty plus the alignment's bound.
    """

    clock: str
    reference: str
    n: int
    error_ns: float
    within_ns: float
    agrees: bool


def checks(alignment: Alignment, readings: list[ClockReading]) -> list[ClockCheck]:
    """Return a check of each pair of clocks that was read and could be aligned."""
    together: dict[tuple[str, str], list[ClockReading]] = {}
    for reading in readings:
        together.setdefault((reading.clock, reading.reference), []).append(reading)
    return [
        _check(alignment, pair, alike)
        for pair, alike in together.items()
        if all(alignment.knows(clock) for clock in pair)
    ]


def _check(alignment: Alignment, pair: tuple[str, str], readings: list[ClockReading]) -> ClockCheck:
    clock, reference = pair
    bound = alignment.between_ns(clock, reference)
    middle = [r.before_ns + (r.after_ns - r.before_ns) // 2 for r in readings]
    within = np.array([(r.after_ns - r.before_ns) / 2 for r in readings])
    other = alignment.in_senders(clock, _array([r.other_ns for r in readings]))
    error = (other - alignment.in_senders(reference, _array(middle))).astype(np.float64)
    best = int(np.argmin(within))
    agrees = bool((np.abs(error) <= within + bound).all())
    return ClockCheck(
        clock, reference, len(readings), float(error[best]), float(within[best]), agrees
    )


def _array(times: list[int]) -> Nanoseconds:
    return np.array(times, dtype=np.int64)
