"""Packets that were lost among routers, or went in circles: at which router, and when.

Taken from the stamps of taps at all routers, of a trial in which routing daemons decided the ways
(`live_ways`). A packet is lost where a point saw it last. It went in a circle if it came back to a
router after another one; copies that a link made of a packet (`duplicate`) may look the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from delaylab.api.points import LOCATION
from delaylab_study.analysis.packets.accounting import UNTAPPED
from delaylab_study.dataset.records.outcomes import NO_REPLY
from delaylab_study.dataset.records.trial import TrialRecord

KEYS = ("probe", "seq", "leg")


@dataclass(frozen=True, slots=True)
class LostAt:
    """Packets of one leg that no reply came for, and that one point saw last.

    `point` is a router's interface (`ROUTER@LINK`) or a point of an end. Times are those of the
    first and the last packet there, in s from the first packet of the trial.
    """

    leg: str
    point: str
    packets: int
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class RoutingLoop:
    """Packets of one leg that went in a circle among the same routers, sorted by name.

    `lost` of them got no reply. Times are those of the first return to a router and of the last.
    `rounds` is the largest number of returns of one packet.
    """

    leg: str
    routers: tuple[str, ...]
    packets: int
    lost: int
    first_s: float
    last_s: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Astray:
    """Packets of a trial that did not go straight to where they should."""

    trial: str
    lost: list[LostAt]
    loops: list[RoutingLoop]


def astray(trial: TrialRecord, stamps: pl.DataFrame, packets: pl.DataFrame, clock: str) -> Astray:
    """Return the lost and circling packets of a trial whose routing daemons decided the ways.

    `stamps` are as recorded, `packets` the schedule in the time of `clock`, that of the machine.
    Stamps of other clocks do not count: their times cannot be compared.
    """
    start_ns = int(str(packets["intended_ns"].min())) if len(packets) else 0
    seen = (
        stamps.with_columns(pl.col("leg", "point", "clock").cast(pl.String))
        .filter(pl.col("clock") == clock)
        .with_columns(((pl.col("time_ns") - start_ns) / 1e9).round(9).alias("at_s"))
        .sort("time_ns", maintain_order=True)
    )
    tapped = packets.filter(pl.col("phase") != UNTAPPED)
    unanswered = tapped.filter(pl.col("outcome").is_in(NO_REPLY)).select("probe", "seq")
    return Astray(trial.id, _lost(seen, unanswered), list(_loops(seen, unanswered)))


def _lost(seen: pl.DataFrame, unanswered: pl.DataFrame) -> list[LostAt]:
    last = (
        seen.join(unanswered, on=["probe", "seq"], how="semi", maintain_order="left")
        .group_by("probe", "seq", maintain_order=True)
        .agg(pl.col("leg", "point", "at_s").last())
    )
    found = (
        last.group_by("leg", "point")
        .agg(pl.len(), pl.col("at_s").min().alias("first"), pl.col("at_s").max().alias("last"))
        .sort("len", "leg", "point", descending=[True, True, False])
    )
    return [LostAt(*row) for row in found.iter_rows()]


def _loops(seen: pl.DataFrame, unanswered: pl.DataFrame) -> Iterator[RoutingLoop]:
    """Yield the circles, the most packets first."""
    at_routers = seen.filter(pl.col("point").str.contains(LOCATION))
    # Only a packet that an interface saw twice can have been in a circle.
    twice = at_routers.group_by(*KEYS, "point").len().filter(pl.col("len") > 1)
    rows = (
        at_routers.join(twice, on=KEYS, how="semi", maintain_order="left")
        .with_columns(pl.col("point").str.split("@").list.first().alias("router"))
        .group_by(*KEYS, maintain_order=True)
        .agg("router", "at_s")
    )
    lost = set(unanswered.iter_rows())
    found: dict[tuple[str, tuple[str, ...]], list[tuple[bool, float, float, int]]] = {}
    for probe, seq, leg, routers, times in rows.iter_rows():
        for circle, returns in _circles(routers, times).items():
            one = ((probe, seq) in lost, returns[0], returns[-1], len(returns))
            found.setdefault((leg, circle), []).append(one)
    for (leg, circle), each in sorted(found.items(), key=lambda item: -len(item[1])):
        yield RoutingLoop(
            leg,
            circle,
            packets=len(each),
            lost=sum(gone for gone, *_ in each),
            first_s=min(first for _, first, _, _ in each),
            last_s=max(last for _, _, last, _ in each),
            rounds=max(rounds for *_, rounds in each),
        )


def _circles(routers: list[str], times: list[float]) -> dict[tuple[str, ...], list[float]]:
    """Return the circles of a packet, each with the times of its returns to a router."""
    visits = [next(group) for _, group in groupby(range(len(routers)), routers.__getitem__)]
    found: dict[tuple[str, ...], list[float]] = {}
    latest: dict[str, int] = {}
    for number, index in enumerate(visits):
        router = routers[index]
        if router in latest:
            between = {routers[each] for each in visits[latest[router] : number]}
            found.setdefault(tuple(sorted(between)), []).append(times[index])
        latest[router] = number
    return found
