"""Account of every scheduled packet: seen at a point, lost before one, or the point is absent."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from delaylab.analysis.packets.segments import columns
from delaylab.dataset.records.trial import PointPath, TrialRecord


@dataclass(frozen=True, slots=True)
class PointAccount:
    """Counts of the scheduled packets at one point of one leg; the three counts sum to all packets.

    `seen` packets were stamped here. `unseen` packets passed without a stamp here: a later point
    stamped them. `lost` packets were lost before this point.
    """

    leg: str
    point: str
    seen: int
    unseen: int
    lost: int


@dataclass(frozen=True, slots=True)
class Account:
    """Counts of the scheduled packets by outcome, by point, and by the last point that saw them."""

    scheduled: int
    outcomes: dict[str, int]
    points: list[PointAccount]
    lost_after: dict[str, int]
    absent: dict[str, str]
    responder_dropped: int


NOWHERE = "scheduled, never seen"


def account(packets: pl.DataFrame, trials: list[TrialRecord]) -> Account:
    """Account at every point for every scheduled packet, one row each; trials share one path."""
    path = trials[0].path
    names = columns(path)
    last = last_seen(packets, path)
    lost = last.filter(last < len(names) - 1)
    labels = [NOWHERE, *names]
    counts = lost.value_counts(name="n").sort(lost.name)
    return Account(
        scheduled=len(packets),
        outcomes=dict(packets["outcome"].value_counts().sort("outcome").iter_rows()),
        points=[_at(packets, path, last, index) for index in range(len(names))],
        lost_after={labels[where + 1]: n for where, n in counts.iter_rows()},
        absent=dict(trials[0].absent),
        responder_dropped=sum(t.responder_icmp.get("OutErrors", 0) for t in trials),
    )


def last_seen(packets: pl.DataFrame, path: PointPath) -> pl.Series:
    """Return the position in the path of the last point that saw each packet, -1 for none."""
    positions = [
        pl.when(pl.col(name).is_not_null()).then(index).otherwise(-1)
        for index, name in enumerate(columns(path))
    ]
    if not positions:
        return pl.repeat(-1, len(packets), dtype=pl.Int32, eager=True).alias("last")
    return packets.select(pl.max_horizontal(positions).alias("last")).to_series()


def _at(packets: pl.DataFrame, path: PointPath, last: pl.Series, index: int) -> PointAccount:
    name = columns(path)[index]
    leg, _, point = name.partition(" ")
    seen = len(packets) - packets[name].null_count()
    passed = int((last >= index).sum())
    return PointAccount(leg, point, seen, passed - seen, len(packets) - passed)
