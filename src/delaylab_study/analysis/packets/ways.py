"""The way of each packet, found by the points that stamped it.

A packet fits a way if every point that stamped it is on that way, and it met the routers in the
way's order. Of several that it fits, it went the only one of which it missed no point up to its
last. If there is no such one, its way is unknown: a packet that was lost before the ways part fits
all of them. Nothing is guessed.

The wire of a link between hosts has a point at each end. A way names one of them; a tap for another
way may stamp at the other one, too, and that is no reason against the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.points import LEGS, RESPONDER, SENDER, WIRE, location, role
from delaylab_study.analysis.clocks.stations import Station, TakenStamps
from delaylab_study.analysis.packets.segments import stamped
from delaylab_study.analysis.packets.table import stations_of
from delaylab_study.dataset.records.ways import Way

UNKNOWN, OFF = -1, -2
"""Instead of a way's number: several ways fit, and no way fits."""
KEYS = ("probe", "seq")


@dataclass(frozen=True, slots=True)
class Parted:
    """Packets by way: `numbers` has a row for each, with `probe`, `seq` and the number `way`."""

    numbers: pl.DataFrame

    def of(self, table: pl.DataFrame, number: int) -> pl.DataFrame:
        """Return the rows of a table with `probe` and `seq` that are of one way's packets."""
        chosen = self.numbers.filter(pl.col("way") == number).select(KEYS)
        return table.join(chosen, on=KEYS, how="semi", maintain_order="left")


def parted(stamps: pl.DataFrame, probes: pl.DataFrame, ways: Sequence[Way]) -> Parted:
    """Return the number of each packet's way, or `UNKNOWN` or `OFF`.

    `stamps` are as recorded, with routers' points by location; `ways` name them likewise.
    """
    scheduled, taken = stamped(stamps, probes, _every_point(stamps, ways))
    seen = (
        np.column_stack([each.times.is_not_null().to_numpy() for each in taken.values()])
        if taken
        else np.zeros((len(scheduled), 0), dtype=np.bool_)
    )
    numbers = np.full(len(scheduled), OFF, dtype=np.int64)
    # Few sets of points are seen, by many packets each.
    sets, of_packet = np.unique(seen, axis=0, return_inverse=True)
    for index, points in enumerate(sets):
        rows = np.flatnonzero(of_packet.ravel() == index)
        there = {
            station: TakenStamps(taken[station].times.gather(rows), taken[station].clock)
            for station, yes in zip(taken, points, strict=True)
            if yes
        }
        fitting = [
            number
            for number, way in enumerate(ways)
            if there.keys() - _wire_ends(way) <= {*stations_of(way)}
        ]
        numbers[rows] = _only(len(rows), fitting, ways, there)
    return Parted(scheduled.select(KEYS).with_columns(pl.Series("way", numbers)))


def common(ways: Sequence[Way]) -> Way:
    """Return the points of both ends that all ways have: a packet passed them, whatever its way."""

    def shared(leg: str) -> list[str]:
        return [
            point
            for point in ways[0].points(leg)
            if _at_an_end(point) and all(point in way.points(leg) for way in ways)
        ]

    return Way(request=shared("request"), reply=shared("reply"), back=[])


def names(ways: Sequence[Way]) -> list[str]:
    """Return a name for each way; those that are alike are numbered."""
    given = [way.name or "way" for way in ways]
    return [
        name if given.count(name) == 1 else f"{name} ({given[: index + 1].count(name)})"
        for index, name in enumerate(given)
    ]


def _every_point(stamps: pl.DataFrame, ways: Sequence[Way]) -> Way:
    """Return all points of all ways and stamps, unordered."""

    def listed(leg: str) -> list[str]:
        recorded = stamps.filter(pl.col("leg").cast(pl.String) == leg)["point"].unique()
        known = (point for way in ways for point in way.points(leg))
        return list(dict.fromkeys([*known, *recorded.cast(pl.String).sort()]))

    return Way.model_construct(request=listed("request"), reply=listed("reply"))


def _only(
    n: int, fitting: Sequence[int], ways: Sequence[Way], seen: Mapping[Station, TakenStamps]
) -> NDArray[np.int64]:
    """Return the way of `n` packets that the same stations saw, among those that have these all."""
    found = np.full(n, OFF, dtype=np.int64)
    if not fitting:
        return found
    in_order = np.array([_in_order(n, ways[number], seen) for number in fitting])
    whole = in_order & ~np.array([[_gap(ways[number], seen)] for number in fitting])
    numbers = np.array(fitting)
    found[in_order.any(axis=0)] = UNKNOWN
    for candidates in (in_order, whole):
        single = candidates.sum(axis=0) == 1
        found[single] = numbers[candidates.argmax(axis=0)[single]]
    return found


def _gap(way: Way, seen: Mapping[Station, TakenStamps]) -> bool:
    """Return True if a point of the way did not see the packets, and a later one did."""
    there = [station in seen for station in stations_of(way)]
    return False in there and True in there[there.index(False) :]


def _in_order(n: int, way: Way, seen: Mapping[Station, TakenStamps]) -> NDArray[np.bool_]:
    """Return for each of `n` packets whether it met each leg's routers in the order of the way.

    Only times of one clock are compared, and only the earliest at each router: a tap may stamp a
    packet late, after the next one did.
    """
    kept = np.ones(n, dtype=np.bool_)
    for leg in LEGS:
        latest: dict[str | None, NDArray[np.int64]] = {}
        routers = (point for point in way.points(leg) if not _at_an_end(point))
        for _, points in groupby(routers, key=lambda point: point.partition("@")[0]):
            met = [seen[at] for point in points if (at := Station(leg, point)) in seen]
            for clock in dict.fromkeys(each.clock for each in met):
                of_clock = [each.times.to_numpy() for each in met if each.clock == clock]
                times = np.minimum.reduce(of_clock)
                if clock in latest:
                    kept &= times >= latest[clock]
                latest[clock] = times
    return kept


def _wire_ends(way: Way) -> set[Station]:
    """Return the points at both ends of each wire that the packets of a way pass."""
    back = way.hops if way.back is None else way.back
    return {
        Station(leg, f"{location(node, hop.link)}.{WIRE}")
        for leg, hops in zip(LEGS, (way.hops, back), strict=True)
        for hop in hops
        for node in (hop.start, hop.end)
    }


def _at_an_end(point: str) -> bool:
    return role(point) in (SENDER, RESPONDER, WIRE)
