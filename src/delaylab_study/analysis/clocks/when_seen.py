"""Stamps of one point as NumPy arrays: which packets it saw, and when."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def when_seen(stamps: pl.Series) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return for each packet whether it has a stamp, and the stamp, 0 if it has none."""
    # Most points saw all packets. Without this, each point of each trial would be two queries of
    # Polars, which take a hundred times as long.
    if not stamps.null_count():
        return np.ones(len(stamps), dtype=np.bool_), stamps.to_numpy()
    return stamps.is_not_null().to_numpy(), stamps.fill_null(0).to_numpy()
