"""Packets that taps saw more than once, counted by phase, leg and point."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import polars as pl

from delaylab.agent.measuring_replies import Taps
from delaylab.agent.result import Result
from delaylab.dataset.records.trial import Repeats

LEGS: tuple[Literal["request"], Literal["reply"]] = ("request", "reply")


def count(taps: Iterable[Result[Taps]], packets: pl.DataFrame) -> list[Repeats]:
    """Return the counts of repeated packets, given the trial's schedule with its phases."""
    parts = [tap.table("repeats").with_columns(pl.col("point").cast(pl.String)) for tap in taps]
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
