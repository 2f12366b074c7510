"""Requests of a probe to a service that failed."""

from __future__ import annotations

import polars as pl

from delaylab.api.records import Doubt, DoubtKind, doubt

MOST_REASONS = 3
"""The most reasons that a doubt on failed requests names."""


def failed(packets: pl.DataFrame) -> list[Doubt]:
    """Return the doubt that requests failed, with the most frequent reasons, if any did.

    `packets` are the agent's tables of the packets of all phases: an answer with an error counts as
    failed, too.
    """
    errors = packets.filter(pl.col("error").is_not_null())
    if errors.is_empty():
        return []
    counts = errors.group_by("error").len().sort("len", "error", descending=[True, False])
    most = counts.head(MOST_REASONS).iter_rows()
    reasons = "; ".join(f"{why} ({count})" for why, count in most)
    return [
        doubt(
            DoubtKind.FAILED_REQUESTS,
            f"{len(errors)} of {len(packets)} requests failed: {reasons}",
            "see what the service says: delaylab logs, or its own log",
            failed=len(errors),
            requests=len(packets),
        )
    ]
