"""Statements of time synchronisation on two machines' clocks, beside what the probes show.

chrony states the largest error of a machine's clock against the time that it follows (RFC 5905,
root distance). Two clocks that follow the same time differ by at most the sum of the two errors. A
machine that serves its own clock states no error: its clock is the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from delaylab_study.analysis.clocks.fit import FitPart
from delaylab_study.dataset.records.comparisons import ClockComparison, TimeSync

NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class Stated:
    """Statements of time synchronisation on the two machines of a pair of clocks, at least one.

    `bound_ns` is their sum, in ns: the largest offset between the two clocks if both statements are
    true and both machines follow the same time.
    """

    by: tuple[TimeSync, ...]
    bound_ns: float

    def holds(self, part: FitPart) -> bool:
        """Return True if the offset at the start of a part may lie within the stated bound.

        The offset is known to the part's own bound.
        """
        return abs(part.line.ahead(part.start_ns)) <= self.bound_ns + part.bound_ns


def stated(
    compared: Sequence[ClockComparison], time_sync: Sequence[TimeSync]
) -> Mapping[frozenset[str], Stated]:
    """Return the statements on each pair of compared clocks; pairs without any are left out."""
    found = {}
    for pair in compared:
        machines = (pair.machine, pair.other)
        by = tuple(
            reading
            for reading in time_sync
            if reading.machine in machines and reading.bound_us is not None
        )
        if by:
            bound = sum(each.bound_us or 0.0 for each in by) * NS_PER_US
            found[frozenset((pair.reference, pair.clock))] = Stated(by, bound)
    return found
