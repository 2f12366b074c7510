"""Processes of the lab that a signal stopped during a trial."""

from __future__ import annotations

import polars as pl

_STOPPED = r"^stopped\.(.+)$"
_SHORT = 15
"""Bytes of a process's name that the kernel keeps (prctl(2), PR_SET_NAME)."""


def stopped(hosts: pl.DataFrame) -> dict[str, float]:
    """Return how many seconds each process of the lab was stopped by a signal, by its name."""
    seconds = (
        hosts.with_columns(pl.col("metric").str.extract(_STOPPED).alias("name"))
        .filter(pl.col("name").is_not_null())
        .group_by("place", "name")
        .agg(pl.col("value").sum())
        .sort("place", "name")
    )
    return {_process(place, name): float(value) for place, name, value in seconds.iter_rows()}


def _process(place: str, name: str) -> str:
    """Return what a process of a place is, by the name that it has in the kernel."""
    if name == f"{place}_engine"[:_SHORT]:
        return f"the link engine of {place.removeprefix('link.')}"
    if name in {place[:_SHORT], f"node.{place}"[:_SHORT]}:
        return f"the agent of {place}"
    return f"{name} of {place}"
