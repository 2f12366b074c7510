"""Probes by which two machines compare their clocks, as limits to the offset of the two.

A probe and its answer are stamped four times, like a request of NTP (RFC 5905, section 8). Probes
are sent in pairs. A pair that keeps its distance on the way was not queued behind other packets
(coded probes; Geng et al. 2018, USENIX NSDI, "Huygens", section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.analysis.clocks.pairs import Crossings, Pair
from delaylab_study.dataset.records.comparisons import ClockComparison

PURE_NS = 5_000
"""The largest change of a pair's distance on the way if nothing came between its two probes."""

SURE = 400
"""The least number of probes of which the fastest surely met nearly empty queues both ways."""
FAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Probes from one machine to another and back; times of the `reference`, then of the `clock`.

    `symmetric_ns` is the largest difference of the least one-way delays as the user states it, or
    None.
    """

    reference: str
    clock: str
    seq: NDArray[np.int64]
    sent_ns: Nanoseconds
    arrived_ns: Nanoseconds
    left_ns: Nanoseconds
    back_ns: Nanoseconds
    symmetric_ns: int | None = None

    def __len__(self) -> int:
        return len(self.seq)

    def joins(self, one: str, other: str) -> bool:
        """Return True if these two clocks were compared."""
        return {one, other} == {self.reference, self.clock}

    def pair(self, clock: str) -> Pair:
        """Return the probes as limits to the offset of one of both clocks from the other."""
        rows = np.arange(len(self))
        there = Crossings(rows, self.sent_ns, self.arrived_ns - self.sent_ns)
        back = Crossings(rows, self.back_ns, self.left_ns - self.back_ns)
        if clock == self.clock:
            return Pair(self.clock, self.reference, there, back)
        # As the other clock sees it: its limits from above are the answers, from below the probes.
        upper = Crossings(rows, self.left_ns, self.back_ns - self.left_ns)
        lower = Crossings(rows, self.arrived_ns, self.sent_ns - self.arrived_ns)
        return Pair(self.reference, self.clock, upper, lower)

    def narrowed(self, clock: str) -> Pair:
        """Return the limits of `pair` if each way takes what the user states of it."""
        return self.pair(clock).widened(-self.each_way_ns)

    @property
    def each_way_ns(self) -> int:
        """Return the time that each way takes at least, as the user states it; 0 if nothing is.

        It is half of the least round trip, less half of `symmetric_ns`.
        """
        if self.symmetric_ns is None or not len(self):
            return 0
        return max(0, (int(self.took_ns.min()) - self.symmetric_ns) // 2)

    @property
    def least_ns(self) -> int:
        """Return the time that both ways surely take together; 0 if too few probes came back.

        It is below the least round trip by the distance from there to a tenth of all round trips:
        the fastest probe may have been queued as well. The noisier the network, the less is sure.
        """
        if len(self) < SURE:
            return 0
        took = self.took_ns
        least = int(took.min())
        return max(0, 2 * least - int(np.quantile(took, FAST_SHARE)))

    @property
    def took_ns(self) -> Nanoseconds:
        """Return for each probe what it and its answer were under way, whatever the clocks show."""
        return (self.back_ns - self.sent_ns) - (self.left_ns - self.arrived_ns)

    @property
    def pure(self) -> NDArray[np.bool_]:
        """Return for each probe if it was one of a pair that kept its distance both ways."""
        order = np.argsort(self.seq, kind="stable")
        seq = self.seq[order]
        first = np.flatnonzero((seq[:-1] % 2 == 0) & (seq[1:] == seq[:-1] + 1))
        one, other = order[first], order[first + 1]
        there = _distance(self.arrived_ns, one, other) - _distance(self.sent_ns, one, other)
        back = _distance(self.back_ns, one, other) - _distance(self.left_ns, one, other)
        kept = (np.abs(there) <= PURE_NS) & (np.abs(back) <= PURE_NS)
        found = np.zeros(len(self), dtype=np.bool_)
        found[one[kept]] = found[other[kept]] = True
        return found


def exchanges(table: pl.DataFrame, compared: Iterable[ClockComparison]) -> list[Exchanges]:
    """Return the probes of each comparison of a trial; `table` is its table `comparisons`."""
    found = []
    for each in compared:
        own = (pl.col("reference") == each.reference) & (pl.col("clock") == each.clock)
        rows = table.filter(own)
        times = {
            name: rows[name].to_numpy() for name in ("sent_ns", "arrived_ns", "left_ns", "back_ns")
        }
        seq = rows["seq"].cast(pl.Int64).to_numpy()
        found.append(
            Exchanges(each.reference, each.clock, seq, **times, symmetric_ns=each.symmetric_ns)
        )
    return found


def _distance(times: Nanoseconds, one: NDArray[np.intp], other: NDArray[np.intp]) -> Nanoseconds:
    return times[other] - times[one]
