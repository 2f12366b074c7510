"""Segments from stamps: one row per packet, one column per point, differences of neighbours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.analysis.clocks.align import Alignment, align
from delaylab.analysis.clocks.exchanges import Exchanges
from delaylab.analysis.clocks.when_seen import when_seen
from delaylab.analysis.packets import layers
from delaylab.dataset.records.ways import Way
from delaylab.dataset.roles import roles

Nanoseconds = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """Time between two neighbouring stamps, for the packets in which they were neighbours.

    `rows` are the packets' positions in the given table, `delay_ns` their delays in ns. `merged`
    marks a segment that spans a point which did not see those packets. `leg` is `request`, `reply`,
    or `turn` for the segment from the last point of the request to the first of the reply.
    `bound_ns` is the largest error of the delays, common to all, if the two stamps are of two
    clocks; 0 if they are of one. `at` names the routers and links between the two points on a way
    over routers.
    """

    leg: str
    start: str
    end: str
    layer: str
    direction: str
    merged: bool
    rows: NDArray[np.intp]
    delay_ns: Nanoseconds
    bound_ns: float = 0.0
    at: str = ""


def column(leg: str, point: str) -> str:
    """Return the name of a point's column in a table of packets."""
    return f"{leg} {point}"


def columns(way: Way) -> list[str]:
    """Return the names of all point columns, in the order in which a packet passes them."""
    return [column("request", p) for p in way.request] + [column("reply", p) for p in way.reply]


def own_clock(name: str) -> str:
    """Return the name of a point's column with stamps in its own clock, if not the sender's."""
    return f"{name}, own clock"


def bound(name: str) -> str:
    """Return the name of a point's column with its bound in ns, if it has another clock."""
    return f"{name}, bound"


def tick(name: str) -> str:
    """Return the name of a point's column with its clock's tick in ns, if the clock ticks."""
    return f"{name}, tick"


def aligned(
    stamps: pl.DataFrame,
    probes: pl.DataFrame,
    way: Way,
    reference: str | None = None,
    compared: Sequence[Exchanges] = (),
) -> tuple[pl.DataFrame, Alignment]:
    """Return the packets of one trial with their stamps, and the alignment of their clocks.

    Each scheduled packet is a row with its stamps in ns, null where a point did not see it. If a
    point saw a packet more than once (a duplicate, or a stamp per hop), the first stamp counts.
    Stamps of other clocks are converted to the sender's, with their bound and the original stamp in
    columns beside them; those that cannot be aligned are null. `reference` is the clock that others
    are aligned to where they neighbour it, `compared` are probes between machines (`align`).
    """
    wide, clocks = stamped(stamps, probes, way)
    named = {name: clock for name, clock in clocks.items() if clock is not None}
    table, alignment = align(wide, columns(way), named, reference, compared)
    others = [name for name, clock in named.items() if clock != alignment.sender]
    return table.with_columns(
        *(wide[name].alias(own_clock(name)) for name in others),
        *(pl.lit(alignment.bound_ns(named[name])).alias(bound(name)) for name in others),
        *(
            pl.lit(alignment.ticks[clock]).alias(tick(name))
            for name, clock in named.items()
            if alignment.ticks[clock] > 0
        ),
    ), alignment


def stamped(
    stamps: pl.DataFrame, probes: pl.DataFrame, way: Way
) -> tuple[pl.DataFrame, dict[str, str | None]]:
    """Return the packets with their stamps as they were taken, and each column's clock.

    Rows are in the order of `probe` and `seq`. A router's point has the stamps that were recorded
    by its location, or by its role on the way, as earlier versions did.
    """
    wide = probes.sort("probe", "seq")
    keys = _keys(wide)
    times: list[pl.Series] = []
    clocks: dict[str, str | None] = {}
    for leg, points in (("request", way.request), ("reply", way.reply)):
        located = {role: location for location, role in roles(way, leg).items()}
        for point in points:
            name = column(leg, point)
            at = pl.col("point") == point
            if point in located:
                at |= pl.col("point") == located[point]
            seen = stamps.filter((pl.col("leg") == leg) & at)
            clocks[name] = str(seen["clock"][0]) if len(seen) else None
            times.append(_first_times(name, keys, seen))
    return wide.with_columns(times), clocks


def as_stamped(table: pl.DataFrame) -> pl.DataFrame:
    """Return packets with every stamp in its own point's clock, unaligned ones included."""
    others = [name for name in table.columns if own_clock(name) in table.columns]
    return table.with_columns(pl.coalesce(own_clock(name), name).alias(name) for name in others)


def complete(table: pl.DataFrame, way: Way) -> pl.DataFrame:
    """Return the packets that both the first and the last point of the way saw.

    There are none on a way without a way back.
    """
    if not way.reply:
        return table.clear()
    names = columns(way)
    return table.filter(pl.col(names[0]).is_not_null() & pl.col(names[-1]).is_not_null())


def segments(table: pl.DataFrame, way: Way, in_host_stack: Collection[str] = ()) -> list[Segment]:
    """Split complete packets into segments, which sum exactly to each packet's round-trip time.

    `in_host_stack` names the sides, `sender` or `responder`, whose node is in its host's own stack.
    """
    stations = [("request", p) for p in way.request] + [("reply", p) for p in way.reply]
    found: list[Segment] = []
    if table.is_empty():
        return found
    last_time = table[columns(way)[0]].to_numpy().copy()
    last_point = np.zeros(len(table), dtype=np.intp)
    for index, (leg, point) in enumerate(stations[1:], start=1):
        known, now = when_seen(table[column(leg, point)])
        rows = np.flatnonzero(known)
        for start in np.unique(last_point[rows]).tolist():
            chosen = rows[last_point[rows] == start]
            delay = now[chosen] - last_time[chosen]
            ends = (*stations[start], *stations[index])
            off = _bound_between(table, stations[start], stations[index], chosen)
            found.append(_segment(ends, in_host_stack, index - start > 1, chosen, delay, off))
        last_time[rows] = now[rows]
        last_point[rows] = index
    return found


def _segment(
    ends: tuple[str, str, str, str],
    in_host_stack: Collection[str],
    merged: bool,
    rows: NDArray[np.intp],
    delay: Nanoseconds,
    off_ns: float,
) -> Segment:
    first_leg, start, last_leg, end = ends
    leg = first_leg if first_leg == last_leg else "turn"
    name = layers.layer(leg, start, end, in_host_stack)
    way = layers.direction(leg, start, end)
    return Segment(leg, start, end, name, way, merged, rows, delay, off_ns)


def bound_between(table: pl.DataFrame, first: str, last: str) -> float:
    """Return the largest bound in ns of a difference between two points' columns.

    The clocks on a packet's way are aligned one after the other. The two points share the bounds of
    the clocks before both of them, and these cancel out. A clock that ticks shows its last tick, so
    the difference is off by the longer tick of the two beside that.
    """
    both = table.filter(pl.col(first).is_not_null() & pl.col(last).is_not_null())
    if both.is_empty():
        return 0.0
    ticks = [_column_or_0(both, tick(name)) for name in (first, last)]
    lines = [
        _column_or_0(both, bound(name)) - (own if bound(name) in both.columns else 0)
        for name, own in zip((first, last), ticks, strict=True)
    ]
    return float(both.select((lines[0] - lines[1]).abs() + pl.max_horizontal(ticks)).max().item())


def _column_or_0(table: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).fill_null(0) if name in table.columns else pl.lit(0.0)


def _bound_between(
    table: pl.DataFrame, first: tuple[str, str], last: tuple[str, str], rows: NDArray[np.intp]
) -> float:
    names = column(*first), column(*last)
    if not any(kind(name) in table.columns for name in names for kind in (bound, tick)):
        return 0.0
    return bound_between(table[rows], *names)


def _keys(table: pl.DataFrame) -> NDArray[np.uint64]:
    probe = table["probe"].to_numpy().astype(np.uint64)
    return np.asarray((probe << np.uint64(32)) | table["seq"].to_numpy(), dtype=np.uint64)


def _first_times(name: str, keys: NDArray[np.uint64], seen: pl.DataFrame) -> pl.Series:
    """Return a point's first stamp of every packet of `keys`, which are sorted."""
    if seen.is_empty() or len(keys) == 0:
        return pl.Series(name, [None] * len(keys), dtype=pl.Int64)
    stamped = _keys(seen)
    at = np.minimum(np.searchsorted(keys, stamped), len(keys) - 1)
    known = keys[at] == stamped
    never = np.iinfo(np.int64).max
    first = np.full(len(keys), never, dtype=np.int64)
    np.minimum.at(first, at[known], seen["time_ns"].to_numpy()[known])
    found = pl.Series(name, first)
    return found.replace({never: None}) if np.any(first == never) else found
