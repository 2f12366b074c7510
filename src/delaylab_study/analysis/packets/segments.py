"""Packets from stamps: one row per packet, one column per station, and their segments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.points import LEGS
from delaylab_study.analysis.clocks.align import Alignment, align
from delaylab_study.analysis.clocks.exchanges import Exchanges
from delaylab_study.analysis.clocks.stations import Station, TakenStamps
from delaylab_study.analysis.clocks.when_seen import when_seen
from delaylab_study.analysis.packets import layers
from delaylab_study.analysis.packets.table import Packets, Stamps, constant, stations_of
from delaylab_study.dataset.records.ways import Way
from delaylab_study.dataset.roles import roles

Nanoseconds = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The time between two neighbouring stamps, for the packets in which they were neighbours.

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


def aligned(
    stamps: pl.DataFrame,
    probes: pl.DataFrame,
    way: Way,
    reference: str | None = None,
    compared: Sequence[Exchanges] = (),
) -> tuple[Packets, Alignment]:
    """Return the packets of one trial with their stamps, and the alignment of their clocks.

    Each scheduled packet is a row with its stamps in ns, null where a point did not see it. If a
    point saw a packet more than once (a duplicate, or a stamp per hop), the first stamp counts.
    Stamps of other clocks are converted to the sender's; those that cannot be aligned are null.
    `reference` is the clock that others are aligned to where they neighbour it, `compared` are
    probes between machines (`align`).
    """
    scheduled, taken = stamped(stamps, probes, way)
    moved, alignment = align(scheduled["phase"], taken, reference, compared)

    def converted(station: Station, times: pl.Series, clock: str | None) -> Stamps:
        if clock is None:
            return Stamps(times)
        ticks = alignment.ticks[clock]
        tick_ns = constant(ticks, len(times)) if ticks > 0 else None
        if station not in moved:
            return Stamps(times, tick_ns=tick_ns)
        bound_ns = constant(alignment.bound_ns(clock), len(times))
        return Stamps(moved[station], times, bound_ns, tick_ns)

    stations = {at: converted(at, each.times, each.clock) for at, each in taken.items()}
    return Packets(scheduled, stations), alignment


def stamped(
    stamps: pl.DataFrame, probes: pl.DataFrame, way: Way
) -> tuple[pl.DataFrame, dict[Station, TakenStamps]]:
    """Return the packets in the order of `probe` and `seq`, and their stamps as they were taken.

    A router's point has the stamps that were recorded by its location, or by its role on the way,
    as earlier versions did.
    """
    scheduled = probes.sort("probe", "seq")
    keys = _keys(scheduled)
    located: dict[str, dict[str, str]] = {
        leg: {role: location for location, role in roles(way, leg).items()} for leg in LEGS
    }
    of_legs: dict[str, pl.Series] = {leg: stamps["leg"] == leg for leg in LEGS}
    kept = stamps.select("probe", "seq", "time_ns", "clock")
    taken: dict[Station, TakenStamps] = {}
    for station in stations_of(way):
        at = stamps["point"] == station.point
        if station.point in located[station.leg]:
            at |= stamps["point"] == located[station.leg][station.point]
        seen = kept.filter(of_legs[station.leg] & at)
        clock = str(seen["clock"][0]) if len(seen) else None
        taken[station] = TakenStamps(_first_times(keys, seen), clock)
    return scheduled, taken


def segments(packets: Packets, way: Way, in_host_stack: Collection[str] = ()) -> list[Segment]:
    """Split complete packets into segments, which sum exactly to each packet's round-trip time.

    `in_host_stack` names the sides, `sender` or `responder`, whose node is in its host's own stack.
    """
    stations = stations_of(way)
    found: list[Segment] = []
    if not len(packets):
        return found
    last_time = packets.stations[stations[0]].times.to_numpy().copy()
    last_point = np.zeros(len(packets), dtype=np.intp)
    everything = np.arange(len(packets), dtype=np.intp)
    for index, station in enumerate(stations[1:], start=1):
        known, now = when_seen(packets.stations[station].times)
        # Most points saw all packets: their segments share one array of rows.
        rows = everything if known.all() else np.flatnonzero(known)
        starts = np.flatnonzero(np.bincount(last_point[rows])).tolist()
        for start in starts:
            chosen = rows if len(starts) == 1 else rows[last_point[rows] == start]
            delay = now[chosen] - last_time[chosen]
            ends = stations[start], station
            off_ns = packets.bound_between(*ends, chosen)
            found.append(_segment(ends, in_host_stack, index - start > 1, chosen, delay, off_ns))
        last_time[rows] = now[rows]
        last_point[rows] = index
    return found


def _segment(
    ends: tuple[Station, Station],
    in_host_stack: Collection[str],
    merged: bool,
    rows: NDArray[np.intp],
    delay: Nanoseconds,
    off_ns: float,
) -> Segment:
    (first_leg, start), (last_leg, end) = ends
    leg = first_leg if first_leg == last_leg else "turn"
    name = layers.layer(leg, start, end, in_host_stack)
    way = layers.direction(leg, start, end)
    return Segment(
        leg=leg,
        start=start,
        end=end,
        layer=name,
        direction=way,
        merged=merged,
        rows=rows,
        delay_ns=delay,
        bound_ns=off_ns,
    )


def _keys(table: pl.DataFrame) -> NDArray[np.uint64]:
    probe = table["probe"].to_numpy().astype(np.uint64)
    return np.asarray((probe << np.uint64(32)) | table["seq"].to_numpy(), dtype=np.uint64)


def _first_times(keys: NDArray[np.uint64], seen: pl.DataFrame) -> pl.Series:
    """Return a point's first stamp of every packet of `keys`, which are sorted."""
    if seen.is_empty() or len(keys) == 0:
        return constant(None, len(keys))
    stamped = _keys(seen)
    # The packets of one probe are numbered without a gap, so most keys are their own places.
    gapless = int(keys[-1] - keys[0]) == len(keys) - 1
    at = stamped - keys[0] if gapless else np.searchsorted(keys, stamped).astype(np.uint64)
    at = np.minimum(at, np.uint64(len(keys) - 1)).astype(np.intp)
    known = keys[at] == stamped
    never = np.iinfo(np.int64).max
    first = np.full(len(keys), never, dtype=np.int64)
    np.minimum.at(first, at[known], seen["time_ns"].to_numpy()[known])
    found = pl.Series(first)
    return found.replace({never: None}) if np.any(first == never) else found
