"""From stamps to segments: one row per packet, one column per point, differences between them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.analysis import layers
from delaylab.dataset import Way

Nanoseconds = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """The time between two neighbouring stamps, for the packets in which they were neighbours.

    `rows` are the packets' positions in the table that was given, `delay_ns` their delays in ns.
    `merged` marks a segment that spans a point which did not see those packets. `leg` is
    `request`, `reply`, or `turn` from the last point of the request to the first of the reply.
    """

    leg: str
    start: str
    end: str
    layer: str
    direction: str
    merged: bool
    rows: NDArray[np.intp]
    delay_ns: Nanoseconds


def column(leg: str, point: str) -> str:
    """Return the name of a point's column in a table of packets."""
    return f"{leg} {point}"


def columns(path: Way) -> list[str]:
    """Return the names of all point columns, in the order in which a packet passes them."""
    return [column("request", p) for p in path.request] + [column("reply", p) for p in path.reply]


def packets(stamps: pl.DataFrame, probes: pl.DataFrame, path: Way) -> pl.DataFrame:
    """Return one row per scheduled packet with its stamps in ns, null where a point did not see it.

    A point that saw a packet more than once (a duplicate, or a stamp per hop) counts with its
    first stamp. Stamps of another clock than the sender's are left out: two clocks are never
    subtracted before alignment.
    """
    wide = probes.sort("probe", "seq")
    own = _of_the_senders_clock(stamps)
    times: list[pl.Series] = []
    keys = _keys(wide)
    for leg, points in (("request", path.request), ("reply", path.reply)):
        for point in points:
            seen = own.filter((pl.col("leg") == leg) & (pl.col("point") == point))
            times.append(_first_times(column(leg, point), keys, seen))
    return wide.with_columns(times)


def complete(table: pl.DataFrame, path: Way) -> pl.DataFrame:
    """Return the packets that the first and the last point of the path saw."""
    names = columns(path)
    return table.filter(pl.col(names[0]).is_not_null() & pl.col(names[-1]).is_not_null())


def segments(table: pl.DataFrame, path: Way, own_stack: Collection[str] = ()) -> list[Segment]:
    """Split complete packets into segments, which sum to each packet's round-trip time, exactly.

    `own_stack` names the sides, `sender` or `responder`, whose node is in its host's own stack.
    """
    stations = [("request", p) for p in path.request] + [("reply", p) for p in path.reply]
    found: list[Segment] = []
    if table.is_empty():
        return found
    last_time = table[columns(path)[0]].to_numpy().copy()
    last_point = np.zeros(len(table), dtype=np.intp)
    for index, (leg, point) in enumerate(stations[1:], start=1):
        series = table[column(leg, point)]
        rows = np.flatnonzero(series.is_not_null().to_numpy())
        now = series.fill_null(0).to_numpy()
        for start in np.unique(last_point[rows]).tolist():
            chosen = rows[last_point[rows] == start]
            delay = now[chosen] - last_time[chosen]
            ends = (*stations[start], *stations[index])
            found.append(_segment(ends, own_stack, index - start > 1, chosen, delay))
        last_time[rows] = now[rows]
        last_point[rows] = index
    return found


def _segment(
    ends: tuple[str, str, str, str],
    own_stack: Collection[str],
    merged: bool,
    rows: NDArray[np.intp],
    delay: Nanoseconds,
) -> Segment:
    first_leg, start, last_leg, end = ends
    leg = first_leg if first_leg == last_leg else "turn"
    name = layers.layer(leg, start, end, own_stack)
    return Segment(leg, start, end, name, layers.direction(leg, start, end), merged, rows, delay)


def _of_the_senders_clock(stamps: pl.DataFrame) -> pl.DataFrame:
    if stamps.is_empty() or stamps["clock"].n_unique() == 1:
        return stamps.drop("clock")
    sender = stamps.filter((pl.col("point") == "sender.app") & (pl.col("leg") == "request"))
    return stamps.filter(pl.col("clock") == sender["clock"].first())


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
    return pl.Series(name, first).replace({never: None})
