"""Alignment of a trial: all stamps in the sender's clock, and the bound of their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.points import LEGS
from delaylab_study.analysis.clocks.exchanges import Exchanges
from delaylab_study.analysis.clocks.fit import Fit, FitPart, Span, fit
from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.analysis.clocks.pairs import Crossings, crossings, pair
from delaylab_study.analysis.clocks.stations import Station, TakenStamps
from delaylab_study.analysis.clocks.ticks import tick_ns
from delaylab_study.analysis.clocks.when_seen import when_seen

RESTING = ("untapped", "before", "after")
# Number of packets at each point from whose stamps a clock's tick is learned.
LEARNED = 2000


@dataclass(frozen=True, slots=True)
class ClockPair:
    """Two clocks that neighbour each other on the packets' way, and the fit of one to the other.

    `near` is the clock that a packet meets first; either of the two may be the fit's reference.
    `probes` is the number of probes by which their machines were compared. `symmetric_ns` is the
    stated symmetry that the fit rests on, None if it rests on none; `contradicted` is true if one
    was stated that no line fits.
    """

    near: str
    far: str
    fit: Fit
    probes: int = 0
    symmetric_ns: int | None = None
    contradicted: bool = False

    def to_near(self, far_ns: Nanoseconds, parts: NDArray[np.intp]) -> Nanoseconds:
        """Convert times of the far clock to the near one; `parts`: each time's part of the fit."""
        near_ns = far_ns.copy()
        for number, part in enumerate(self.fit.parts):
            chosen = parts == number
            if self.fit.reference == self.near:
                near_ns[chosen] = part.line.back(far_ns[chosen])
            else:
                near_ns[chosen] = part.line.forward(far_ns[chosen])
        return near_ns

    def part_of(self, far_ns: Nanoseconds) -> NDArray[np.intp]:
        """Return each time's part of the fit; times are of the far clock.

        A time that the clock showed twice, because it was set back, is taken to be the first.
        """
        if self.fit.reference == self.far:
            starts = [part.start_ns for part in self.fit.parts]
        else:
            starts = [int(p.line.forward(np.array([p.start_ns]))[0]) for p in self.fit.parts]
        passed = np.searchsorted(np.maximum.accumulate(starts), far_ns, side="right")
        return np.clip(passed - 1, 0, None)


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignment of a trial's clocks, hop by hop from the sender.

    `clocks` gives the clock of each station, `ticks` each clock's resolution in ns, 0 if it
    shows every nanosecond.
    """

    sender: str
    hops: list[ClockPair]
    clocks: Mapping[Station, str]
    ticks: Mapping[str, float]

    def knows(self, clock: str) -> bool:
        """Return True if stamps of this clock can be converted to the sender's clock."""
        known = clock == self.sender or any(hop.far == clock for hop in self.hops)
        return known and self.bound_ns(clock) < np.inf

    def bound_ns(self, clock: str) -> float:
        """Return the largest error of this clock's stamps once in the sender's clock, in ns."""
        return self._line_ns(clock) + self.ticks.get(clock, 0.0)

    def between_ns(self, first: str, second: str) -> float:
        """Return the largest error in ns of the difference between two clocks' stamps."""
        ticks = self.ticks.get(first, 0.0) + self.ticks.get(second, 0.0)
        return abs(self._line_ns(first) - self._line_ns(second)) + ticks

    def _line_ns(self, clock: str) -> float:
        return sum(hop.fit.bound_ns for hop in self._way(clock))

    def in_senders(self, clock: str, times_ns: Nanoseconds) -> Nanoseconds:
        """Convert times of a clock to the sender's, also outside the span of the stamps.

        A time between two parts of a fit is taken to lie in the earlier one.
        """
        for hop in reversed(self._way(clock)):
            times_ns = hop.to_near(times_ns, hop.part_of(times_ns))
        return times_ns

    def _way(self, clock: str) -> list[ClockPair]:
        far = [hop.far for hop in self.hops]
        return self.hops[: far.index(clock) + 1] if clock in far else []


def align(
    phases: pl.Series,
    taken: Mapping[Station, TakenStamps],
    reference: str | None = None,
    compared: Sequence[Exchanges] = (),
) -> tuple[dict[Station, pl.Series], Alignment]:
    """Convert the stamps of other clocks to the sender's, in whole ns; return them by station.

    `phases` are those of the packets in the order of sending, `taken` their stamps at each station
    in the order in which a packet passes them. Stamps that cannot be aligned become null: all
    stamps of a clock, or those of packets under way while a clock was set.
    Of two neighbouring clocks the nearer to the sender is the reference of the other, unless the
    farther one is the preferred `reference`. `compared` are probes between machines, by which their
    clocks are aligned instead of by packets.
    """
    clocks = {station: each.clock for station, each in taken.items() if each.clock is not None}
    order = list(dict.fromkeys(clocks.values()))
    crossed = crossings(len(phases), taken)
    ticks = {clock: tick_ns(_stamps_of(taken, clock)) for clock in order}
    at_rest = np.flatnonzero(phases.is_in(RESTING).to_numpy())
    hops: list[ClockPair] = []
    for near, far in pairwise(order):
        ends = (near, far) if far == reference else (far, near)
        tick = ticks[near] + ticks[far]
        probes = next((each for each in compared if each.joins(near, far)), None)
        hop = None
        if probes is not None:
            hop = _compared((near, far), ends[0], probes, tick, _span(taken, ends[1]))
        if hop is None:
            hop = ClockPair(near, far, fit(pair(crossed, *ends).widened(tick), at_rest))
        hops.append(hop)
    numbers = [_parts(len(phases), hop, crossed) for hop in hops]
    moved: dict[Station, pl.Series] = {}
    for station, clock in clocks.items():
        if way := order.index(clock):
            parts = [found[LEGS.index(station.leg)] for found in numbers[:way]]
            moved[station] = _moved(taken[station].times, hops[:way], parts)
    return moved, Alignment(order[0] if order else "", hops, clocks, ticks)


def _compared(
    between: tuple[str, str], clock: str, probes: Exchanges, tick_ns: float, span: Span | None
) -> ClockPair | None:
    """Return the fit of two machines' clocks by probes, for a span; None if they allow none.

    Packets of links have delays of their own. While a clock steps, their limits contradict those
    of the probes, and at other times they add nothing to them.

    The least-squares line goes through the probes that were not queued. A stated symmetry that
    breaks the line into more parts, or leaves none, is contradicted, and is not used.
    """
    pure = np.flatnonzero(probes.pure)
    plain = fit(probes.pair(clock).widened(tick_ns), pure, span, probes.least_ns)
    if not plain.parts:
        return None
    if probes.symmetric_ns is None:
        return ClockPair(*between, plain, len(probes))
    rest_ns = max(0, probes.least_ns - 2 * probes.each_way_ns)
    closer = fit(probes.narrowed(clock).widened(tick_ns), pure, span, rest_ns)
    if len(closer.parts) != len(plain.parts) or closer.ignored > plain.ignored:
        return ClockPair(*between, plain, len(probes), contradicted=True)
    return ClockPair(*between, closer, len(probes), probes.symmetric_ns)


def _span(taken: Mapping[Station, TakenStamps], clock: str) -> Span | None:
    """Return the first and the last stamp that a clock took; None if it took none."""
    stamps = [each.times.drop_nulls().to_numpy() for each in taken.values() if each.clock == clock]
    known = [each for each in stamps if len(each)]
    if not known:
        return None
    return int(min(each.min() for each in known)), int(max(each.max() for each in known))


def _stamps_of(taken: Mapping[Station, TakenStamps], clock: str) -> Nanoseconds:
    """Return the stamps that a clock took of the first packets."""
    stamps = (each.times for each in taken.values() if each.clock == clock)
    return np.concatenate([times.drop_nulls().head(LEARNED).to_numpy() for times in stamps])


def _moved(series: pl.Series, hops: list[ClockPair], numbers: list[NDArray[np.intp]]) -> pl.Series:
    """Return one point's stamps in the sender's clock, null where a hop has no line for them."""
    known, times = when_seen(series)
    for hop, number in zip(reversed(hops), reversed(numbers), strict=True):
        known = known & (number >= 0)
        times = hop.to_near(times, number)
    table = pl.DataFrame({"times": times, "known": known})
    return table.select(pl.when("known").then("times")).to_series()


def _parts(
    n: int, hop: ClockPair, crossed: Mapping[tuple[str, str], Crossings]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return each packet's part of the fit, for its request and its reply; -1 for none.

    A packet that was under way while the clock was set belongs to no part.
    """
    request = _part_of(n, hop, crossed.get((hop.near, hop.far)), hop.fit.reference == hop.far)
    reply = _part_of(n, hop, crossed.get((hop.far, hop.near)), hop.fit.reference == hop.near)
    torn = request != reply
    request[torn] = reply[torn] = -1
    return request, reply


def _part_of(n: int, hop: ClockPair, crossings: Crossings | None, at_end: bool) -> NDArray[np.intp]:
    """Return each packet's part of the fit, that in which it crossed between the hop's clocks.

    A packet that did not cross gets the part of the last one before it that did. `at_end` is true
    if the fit's reference stamped the end of the crossing, false if it stamped the start.
    """
    parts = hop.fit.parts
    if len(parts) < 2 or crossings is None or len(crossings) == 0:
        return np.full(n, 0 if parts else -1, dtype=np.intp)
    order = np.argsort(crossings.rows)
    rows = crossings.rows[order]
    times = (crossings.reference_ns + (crossings.difference_ns if at_end else 0))[order]
    last = np.clip(np.searchsorted(rows, np.arange(n), side="right") - 1, 0, None)
    return _located(times, parts)[last]


def _located(times: Nanoseconds, parts: list[FitPart]) -> NDArray[np.intp]:
    starts = np.array([part.start_ns for part in parts])
    ends = np.array([part.end_ns for part in parts])
    starts[0], ends[-1] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    at = np.searchsorted(starts, times, side="right") - 1
    return np.where(times <= ends[at], at, -1)
