"""Times of machines' samples, by the clock of the machine that ran the command."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl


def by_local_clock(hosts: pl.DataFrame, ahead_ns: Mapping[str, int]) -> pl.DataFrame:
    """Return a trial's table `hosts` with all times by one clock.

    `ahead_ns` is how far the clocks of other machines are ahead of it, by their names.
    """
    if not ahead_ns:
        return hosts
    ahead = pl.col("machine").replace_strict(ahead_ns, default=0, return_dtype=pl.Int64)
    return hosts.with_columns(pl.col("time_ns") - ahead)
