"""A packet's stamps along its path."""

from __future__ import annotations

import itertools

import polars as pl

REQUEST, REPLY = 0, 1
Path = list[tuple[int, str]]

SENDER_PATH: Path = [
    (REQUEST, "app"),
    (REQUEST, "qdisc"),
    (REQUEST, "stack"),
    (REPLY, "stack"),
    (REPLY, "app"),
]


def by_packet(stamps: pl.DataFrame, path: Path) -> pl.DataFrame:
    """One row per packet, one column of times per stamp of the path, in its order."""
    columns = [
        pl.col("time_ns")
        .filter((pl.col("leg") == leg) & (pl.col("point").cast(pl.String) == point))
        .first()
        .alias(f"{point}/{leg}")
        for leg, point in path
    ]
    return stamps.group_by("seq").agg(columns).sort("seq").drop("seq")


def assert_whole_and_ordered(stamps: pl.DataFrame, path: Path, packets: int) -> None:
    """Every packet has every stamp of the path once, and none before the one before it."""
    assert len(stamps) == packets * len(path)
    assert_ordered(stamps, path, packets, left_out=0)


def assert_ordered(stamps: pl.DataFrame, path: Path, packets: int, left_out: int) -> None:
    """No stamp is before the one before it; at most `left_out` are missing at any point."""
    times = by_packet(stamps, path)
    assert len(times) == packets
    assert max(times.null_count().row(0)) <= left_out, times.null_count()
    for before, after in itertools.pairwise(times.columns):
        steps = (times[after] - times[before]).drop_nulls()
        assert (steps >= 0).all(), f"{before} -> {after}: {steps.min()!r} ns"
