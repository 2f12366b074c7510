"""The packets of one trial with their stamps, in the sender's clock."""

from __future__ import annotations

import polars as pl

from delaylab.analysis.packets.segments import aligned
from delaylab.dataset.records.trial import PointPath


def packets(stamps: pl.DataFrame, probes: pl.DataFrame, path: PointPath) -> pl.DataFrame:
    return aligned(stamps, probes, path)[0]
