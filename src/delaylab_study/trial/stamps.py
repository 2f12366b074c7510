"""Stamps of a trial: those of the sender, the responder and the taps as one table, and what is read
from them before they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import polars as pl

from delaylab.api.agents import Result, TapDone
from delaylab.api.points import LEGS, LOCATION, RESPONDER, SENDER
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.trial import Repeats
from delaylab_study.trial.frames import frame
from delaylab_study.trial.instruments import Instruments
from delaylab_study.trial.segments import stamped
from delaylab_study.trial.sender import Sender

SEPARATOR = " "
Passed = tuple[str | None, str | None]
"""The locations that a packet passed on each leg, in the order of time; None if it was not seen."""


def taken(
    lab: LiveLab, sender: Sender, instruments: Instruments, *, again: bool = False
) -> pl.DataFrame:
    """Return all stamps of a trial as one table, each with the name of its kernel's clock.

    With `again` they include those that taps took of packets that they had seen before, by which
    loops are found.
    """
    own, exchanges = _of_clock(sender.clock), pl.concat(sender.exchanges)
    parts = [stamps.with_columns(_prefixed(SENDER), own) for stamps in sender.stamps]
    for reflector, reflected in instruments.reflector.items():
        clock = _of_clock(lab.clock(reflector.label))
        parts.append(frame(reflected, "stamps").with_columns(_prefixed(RESPONDER), clock))
    for session, result in instruments.taps.items():
        clock = _of_clock(lab.clock(session.label))
        tables = [frame(result, name) for name in ("stamps", "repeats")[: 2 if again else 1]]
        tables.append(stamped(frame(result, "segments"), exchanges))
        parts += [table.with_columns(pl.col("point").cast(pl.String), clock) for table in tables]
    legs = pl.col("leg").replace_strict(dict(enumerate(LEGS)), return_dtype=pl.String)
    return (
        pl.concat(parts)
        .with_columns(legs)
        .select("probe", "seq", "leg", "point", "time_ns", "clock")
    )


def repeats(taps: Iterable[Result[TapDone]], packets: pl.DataFrame) -> list[Repeats]:
    """Return how many packets taps saw more than once, by phase, leg and point.

    `packets` is the trial's schedule with its phases.
    """
    parts = [frame(tap, "repeats").with_columns(pl.col("point").cast(pl.String)) for tap in taps]
    if not parts:
        return []
    found = (
        pl.concat(parts)
        .join(packets.select("probe", "seq", "phase"), on=["probe", "seq"])
        .group_by("phase", "leg", "point")
        .len()
        .sort("phase", "leg", "point")
    )
    return [
        Repeats(phase=phase, leg=LEGS[leg], point=point, packets=n)
        for phase, leg, point, n in found.iter_rows()
    ]


def passed(stamps: pl.DataFrame) -> list[Passed]:
    """Return the routers' locations that stamped packets, the most frequent first."""
    router = pl.col("point").cast(pl.String)
    at_routers = stamps.filter(router.str.contains(LOCATION))
    by_packet = (
        at_routers.with_columns(pl.col("leg").cast(pl.String), router)
        .sort("time_ns", maintain_order=True)
        .group_by("probe", "seq", "leg", maintain_order=True)
        .agg(pl.col("point").str.join(SEPARATOR))
    )
    request, reply = (
        by_packet.filter(pl.col("leg") == leg).select("probe", "seq", pl.col("point").alias(leg))
        for leg in LEGS
    )
    both = request.join(reply, on=("probe", "seq"), how="full", coalesce=True)
    counts = Counter((there, back) for there, back in both.select(LEGS).iter_rows())
    return [pair for pair, _ in counts.most_common()]


def _of_clock(name: str) -> pl.Expr:
    return pl.lit(name).alias("clock")


def _prefixed(side: str) -> pl.Expr:
    return (side + "." + pl.col("point").cast(pl.String)).alias("point")
