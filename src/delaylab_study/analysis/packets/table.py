"""Packets of a trial, or of several: what their probe recorded, and their stamps, by station."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.dataset.records.ways import Way

TRIAL = "trial number"
"""Column of pooled packets: the place of their trial among the group's trials."""
MEASURED = "load"
"""The phase of the packets sent under the load. Those at rest are a reference only."""

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Stamps:
    """Stamps of a station, one for each packet, null where it did not see the packet.

    `times` are in the sender's clock, in ns, null also where they cannot be aligned. A station with
    another clock has its stamps as they were taken in `own`, and in `bound_ns` the largest error of
    `times`. `tick_ns` is its clock's resolution, None for a clock that shows every nanosecond. Both
    may differ from trial to trial.
    """

    times: pl.Series
    own: pl.Series | None = None
    bound_ns: pl.Series | None = None
    tick_ns: pl.Series | None = None

    @property
    def seen(self) -> pl.Series:
        """Return for each packet whether it has a stamp in the sender's clock."""
        return self.times.is_not_null()

    @property
    def as_stamped(self) -> pl.Series:
        """Return the stamps in the station's own clock, unaligned ones included."""
        if self.own is None:
            return self.times
        return self.own.zip_with(self.own.is_not_null(), self.times)

    def filter(self, mask: pl.Series) -> Stamps:
        """Return the stamps of some packets."""
        own, bound_ns, tick_ns = (
            None if each is None else each.filter(mask)
            for each in (self.own, self.bound_ns, self.tick_ns)
        )
        return Stamps(self.times.filter(mask), own, bound_ns, tick_ns)

    def line_ns(self, rows: Rows) -> Floats:
        """Return the error of the alignment's line for these packets."""
        bound_ns = _or_0(self.bound_ns, rows)
        return bound_ns if self.bound_ns is None else bound_ns - _or_0(self.tick_ns, rows)


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets, one row each: what their probe recorded (`PROBES`), and the stamps of each station.

    Stations are in the order in which a packet passes them. Pooled packets of several trials have a
    column `TRIAL` as well.
    """

    scheduled: pl.DataFrame
    stations: Mapping[Station, Stamps]

    def __len__(self) -> int:
        """Return the number of packets."""
        return len(self.scheduled)

    def filter(self, which: pl.Expr | pl.Series) -> Packets:
        """Return the packets selected by a mask, or by an expression over `scheduled`."""
        mask = which if isinstance(which, pl.Series) else self.scheduled.select(which).to_series()
        if mask.all(ignore_nulls=False):
            return self
        return Packets(
            self.scheduled.filter(mask),
            {station: stamps.filter(mask) for station, stamps in self.stations.items()},
        )

    def of(self, phase: str) -> Packets:
        """Return the packets of one phase."""
        return self.filter(pl.col("phase") == phase)

    def complete(self, way: Way) -> Packets:
        """Return the packets that both the first and the last station of a way saw.

        There are none on a way without a way back.
        """
        if not way.reply:
            return self.filter(pl.Series([False]).new_from_index(0, len(self)))
        passed = stations_of(way)
        return self.filter(self.stations[passed[0]].seen & self.stations[passed[-1]].seen)

    @property
    def as_stamped(self) -> Packets:
        """Return the packets with every stamp in its own station's clock."""
        stations = {at: Stamps(stamps.as_stamped) for at, stamps in self.stations.items()}
        return Packets(self.scheduled, stations)

    def between(self, first: Station, last: Station) -> pl.Series | None:
        """Return the time from one station to another in ns; None if one of them is absent."""
        if first not in self.stations or last not in self.stations:
            return None
        return self.stations[last].times - self.stations[first].times

    def bound_between(self, first: Station, last: Station, rows: Rows | None = None) -> float:
        """Return the largest bound in ns of a difference between the stamps of two stations.

        `rows` are packets that both saw, by default all. The clocks on a packet's way are aligned
        one after the other. The two stations share the bounds of the clocks before both of them,
        and these cancel out. A clock that ticks shows its last tick, so the difference is off by
        the longer tick of the two beside that.
        """
        ends = self.stations[first], self.stations[last]
        if all(each.bound_ns is None and each.tick_ns is None for each in ends):
            return 0.0
        if rows is None:
            rows = np.flatnonzero((ends[0].seen & ends[1].seen).to_numpy())
        apart = np.abs(ends[0].line_ns(rows) - ends[1].line_ns(rows))
        ticks = [_or_0(each.tick_ns, rows) for each in ends]
        return float((apart + np.maximum(*ticks)).max(initial=0.0))


def constant(value: float | None, n: int, dtype: type[pl.DataType] = pl.Int64) -> pl.Series:
    """Return `n` times the same value; `dtype` is that of nulls."""
    one = pl.Series([value], dtype=dtype if value is None else pl.Float64)
    return one.new_from_index(0, n)


def stations_of(way: Way) -> list[Station]:
    """Return the stations of a way, in the order in which a packet passes them."""
    legs = (("request", way.request), ("reply", way.reply))
    return [Station(leg, point) for leg, points in legs for point in points]


def joined(parts: Mapping[int, Packets]) -> Packets:
    """Return the packets of trials, which are given by their numbers in rising order."""
    scheduled = [each.scheduled.with_columns(pl.lit(n).alias(TRIAL)) for n, each in parts.items()]
    stations = dict.fromkeys(station for each in parts.values() for station in each.stations)
    return Packets(
        pl.concat(scheduled, how="diagonal"),
        {station: _joined(station, [*parts.values()]) for station in stations},
    )


def _joined(station: Station, parts: Sequence[Packets]) -> Stamps:
    """Return a station's stamps of all trials, null where a trial does not have it."""
    sizes = [len(each) for each in parts]
    found = [
        part.stations.get(station) or Stamps(constant(None, size))
        for part, size in zip(parts, sizes, strict=True)
    ]
    return Stamps(
        pl.concat(each.times for each in found),
        _whole([each.own for each in found], sizes, pl.Int64),
        _whole([each.bound_ns for each in found], sizes, pl.Float64),
        _whole([each.tick_ns for each in found], sizes, pl.Float64),
    )


def _whole(
    parts: Sequence[pl.Series | None], sizes: Sequence[int], dtype: type[pl.DataType]
) -> pl.Series | None:
    if all(part is None for part in parts):
        return None
    return pl.concat(
        constant(None, size, dtype) if part is None else part
        for part, size in zip(parts, sizes, strict=True)
    )


def _or_0(values: pl.Series | None, rows: Rows) -> Floats:
    return np.zeros(len(rows)) if values is None else values.gather(rows).fill_null(0).to_numpy()
