"""Schemas of a trial's tables (docs/architecture.md, "The dataset")."""

from __future__ import annotations

from typing import Any

import polars as pl

STAMPS = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "leg": pl.Categorical,
    "point": pl.Categorical,
    "time_ns": pl.Int64,
    "clock": pl.Categorical,
}
PROBES = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "phase": pl.String,
    "intended_ns": pl.Int64,
    "sent_ns": pl.Int64,
    "slip_ns": pl.Int64,
    "outcome": pl.String,
    "duplicates": pl.UInt16,
    "reordered": pl.Boolean,
}
HOSTS = {"time_ns": pl.Int64, "place": pl.String, "metric": pl.String, "value": pl.Float64}
TABLES: dict[str, dict[str, Any]] = {"stamps": STAMPS, "probes": PROBES, "hosts": HOSTS}
NULLABLE = frozenset({"sent_ns", "slip_ns"})
"""Columns that may be null; they are null for a packet that was not sent."""
