"""The repair test: without a cause, the excess of the same packets falls by the cause's share."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from tests.truth.blind import Plan, carried_out, left_out
from tests.truth.cases import Case
from tests.truth.judging import blame_ns, took_by_seq
from tests.truth.scene import Seen

HELD = 0.1
"""The most by which the fall may differ from the share, as a share of the excess."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The excess of all packets with a cause and without it, in ns, and the share that was named.

    The share is of the excess of the packets that were looked at.
    """

    with_ns: int
    without_ns: int
    share: float

    @property
    def fell(self) -> float:
        """Return the share by which the excess fell."""
        return 1 - self.without_ns / self.with_ns if self.with_ns else 0.0

    @property
    def holds(self) -> bool:
        """Return True if the excess fell by the share."""
        return abs(self.fell - self.share) <= HELD


def repaired(case: Case, plan: Plan) -> Repair:
    """Carry a plan out, and then send the same packets without what it injects."""
    seen = carried_out([case], plan)
    named = sum(blame_ns([case], each) for each in seen.explained)
    whole = sum(each.excess_ns for each in seen.explained)
    without = left_out([case], plan)
    return Repair(_excess_ns(seen), _excess_ns(without), named / whole if whole else 0.0)


def _excess_ns(seen: Seen) -> int:
    """Return by how much all packets together took longer than the median."""
    took = list(took_by_seq(seen).values())
    median = statistics.median(took)
    return round(sum(max(0.0, each - median) for each in took))
