"""Packets of a trial that are drawn at random: they stand for all that were answered under load."""

from __future__ import annotations

from random import Random

import polars as pl

DRAWN = 200
"""The packets that are drawn; fewer if fewer were answered.

The 95 % interval of a share among so many is at most 14 percentage points wide.
"""
KEYS = ("probe", "seq")


def with_drawn(kept: pl.DataFrame, load: pl.DataFrame) -> pl.DataFrame:
    """Return the kept packets and the drawn ones, each once, with a column `drawn`.

    `load` are the answered packets under load. The seed is the number of the trial's probe, which
    the dataset has: the same packets are drawn again from the same table.
    """
    places = draw(len(load), load["probe"][0]) if len(load) else []
    drawn = load.sort(*KEYS)[places]
    added = drawn.join(kept, on=KEYS, how="anti").with_columns(usual=pl.lit(False))
    marks = drawn.select(*KEYS, pl.lit(True).alias("drawn"))
    found = pl.concat([kept, added]).join(marks, on=KEYS, how="left")
    return found.with_columns(pl.col("drawn").fill_null(value=False))


def draw(packets: int, seed: int) -> list[int]:
    """Return the places of the drawn ones among so many packets, in rising order."""
    return sorted(Random(seed).sample(range(packets), min(DRAWN, packets)))
