"""One trial's meaning: its round-trip times, segments, account and doubts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from delaylab.analysis import accounting, rtt, segments
from delaylab.analysis.accounting import Account
from delaylab.analysis.layers import SLIP
from delaylab.analysis.statistics import Summary, summarise
from delaylab.dataset import Study, TrialRecord

# Packets kept of a trial for charts and claims: every k-th, so that a dataset of any size fits.
KEPT = 20_000
MEASURED = "load"


@dataclass(frozen=True, slots=True)
class SegmentSummary:
    """A segment's delays in µs; `merged` counts those that span a point that saw nothing."""

    leg: str
    start: str
    end: str
    layer: str
    direction: str
    merged: bool
    delay: Summary


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """What one trial says. RTTs and delays in µs in the summaries, in ns in `samples`.

    `rtt` has the RTT at each vantage point, `deltas` the paper's terms (round trip), `one_way`
    the sending and the receiving delay; `samples` at most `KEPT` packets of all of these.
    """

    trial: TrialRecord
    rtt: dict[str, Summary]
    deltas: dict[str, Summary]
    one_way: dict[str, Summary]
    segments: list[SegmentSummary]
    account: Account
    samples: pl.DataFrame


def analyse(study: Study, trial: TrialRecord) -> TrialSummary:
    """Analyse a finished trial; reads its tables and lets them go again."""
    packets = segments.packets(study.stamps(trial.id), study.probes(trial.id), trial.path)
    measured = packets.filter(pl.col("phase") == MEASURED)
    answered = segments.complete(measured, trial.path) if trial.path.reply else measured.clear()
    trips = rtt.round_trips(answered)
    return TrialSummary(
        trial=trial,
        rtt=_summaries(trips, rtt.VANTAGE),
        deltas=_summaries(trips, rtt.DELTAS),
        one_way=_summaries(trips, rtt.ONE_WAY),
        segments=_segments(measured, answered, trial),
        account=accounting.account(packets, trial),
        samples=thinned(trips),
    )


def thinned(table: pl.DataFrame) -> pl.DataFrame:
    """Return at most `KEPT` rows: every k-th of the table."""
    return table.gather_every(max(1, -(-len(table) // KEPT)))


def _summaries(trips: pl.DataFrame, names: object) -> dict[str, Summary]:
    found = {name: trips[name].drop_nulls() for name in names}  # type: ignore[attr-defined]
    return {name: summarise(series.to_numpy()) for name, series in found.items() if len(series)}


def _segments(
    measured: pl.DataFrame, answered: pl.DataFrame, trial: TrialRecord
) -> list[SegmentSummary]:
    slip = measured["slip_ns"].drop_nulls().to_numpy()
    found = [
        SegmentSummary(
            "request", "intended", "sent", SLIP, "sending", False, summarise(slip.astype(np.int64))
        )
    ]
    for part in segments.segments(answered, trial.path):
        found.append(
            SegmentSummary(
                part.leg,
                part.start,
                part.end,
                part.layer,
                part.direction,
                part.merged,
                summarise(part.delay_ns),
            )
        )
    return found
