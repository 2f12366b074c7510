"""Packets that cross from one clock to another, and the limits that they set to the offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.analysis.clocks.stations import Station, TakenStamps
from delaylab_study.analysis.clocks.when_seen import when_seen

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Crossings:
    """Packets that crossed between two clocks, one way.

    `rows` are their positions in the table of packets. `reference_ns` are the reference's stamps,
    `difference_ns` the other clock's stamps less those. A packet takes time, so on the way to the
    other clock the difference is at least its offset, on the way back at most.
    """

    rows: Rows
    reference_ns: Nanoseconds
    difference_ns: Nanoseconds

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Pair:
    """Limits to the offset of `clock` from `reference`: offset <= `upper`, offset >= `lower`."""

    clock: str
    reference: str
    upper: Crossings
    lower: Crossings

    def widened(self, by_ns: float) -> Pair:
        """Return the pair with every limit moved outwards: its stamps may be off by that much."""
        off = int(np.ceil(by_ns))
        upper = replace(self.upper, difference_ns=self.upper.difference_ns + off)
        lower = replace(self.lower, difference_ns=self.lower.difference_ns - off)
        return Pair(self.clock, self.reference, upper, lower)


@dataclass(frozen=True, slots=True)
class Loops:
    """Packets that crossed from the reference to the clock and back.

    `first_ns` and `last_ns` are the two crossings as the reference stamped them. `twice_ns` is the
    sum of the two differences: twice the offset, if both crossings took the same time. `took_ns` is
    the time that the two crossings took together, whatever the offset.
    """

    rows: Rows
    first_ns: Nanoseconds
    last_ns: Nanoseconds
    twice_ns: Nanoseconds
    took_ns: Nanoseconds

    def pick(self, chosen: NDArray[np.bool_]) -> Loops:
        """Return the loops selected by a mask."""
        return Loops(
            self.rows[chosen],
            self.first_ns[chosen],
            self.last_ns[chosen],
            self.twice_ns[chosen],
            self.took_ns[chosen],
        )


def loops(pair: Pair) -> Loops:
    """Return the packets of a pair that crossed both ways."""
    size = 1 + max(int(side.rows.max(initial=0)) for side in (pair.upper, pair.lower))
    place = np.full(size, -1)
    place[pair.lower.rows] = np.arange(len(pair.lower))
    back = place[pair.upper.rows]
    there = np.flatnonzero(back >= 0)
    back = back[there]
    upper, lower = pair.upper.difference_ns[there], pair.lower.difference_ns[back]
    return Loops(
        pair.upper.rows[there],
        pair.upper.reference_ns[there],
        pair.lower.reference_ns[back],
        upper + lower,
        upper - lower,
    )


def crossings(n: int, taken: Mapping[Station, TakenStamps]) -> dict[tuple[str, str], Crossings]:
    """Find packets that cross between neighbouring stamps, by (clock before, clock after).

    `taken` are the stamps of `n` packets at each station, in the order in which a packet passes
    them. The clock before is the reference.
    """
    clocked = [(each.clock, each.times) for each in taken.values() if each.clock is not None]
    names = list(dict.fromkeys(clock for clock, _ in clocked))
    parts: dict[tuple[str, str], list[Crossings]] = {}
    last_clock = np.full(n, -1)
    last_time = np.zeros(n, dtype=np.int64)
    for clock, times in clocked:
        here = names.index(clock)
        known, now = when_seen(times)
        rows = np.flatnonzero(known)
        before = last_clock[rows]
        for other in (int(c) for c in np.unique(before) if c not in (-1, here)):
            crossed = rows[before == other]
            since = last_time[crossed]
            found = Crossings(crossed, since, now[crossed] - since)
            parts.setdefault((names[other], names[here]), []).append(found)
        last_clock[rows], last_time[rows] = here, now[rows]
    return {way: _joined(found) for way, found in parts.items()}


def pair(crossed: Mapping[tuple[str, str], Crossings], clock: str, reference: str) -> Pair:
    """Return the crossings between two clocks, both ways, as limits to the offset of `clock`."""
    there = crossed.get((reference, clock), _NONE)
    back = crossed.get((clock, reference), _NONE)
    turned = Crossings(back.rows, back.reference_ns + back.difference_ns, -back.difference_ns)
    return Pair(clock, reference, there, turned)


_NONE = Crossings(
    np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
)


def _joined(parts: list[Crossings]) -> Crossings:
    if len(parts) == 1:
        return parts[0]
    return Crossings(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.reference_ns for part in parts]),
        np.concatenate([part.difference_ns for part in parts]),
    )
