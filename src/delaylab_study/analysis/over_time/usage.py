"""Use of the machine and of its network at the time when each packet was sent.

It is what a monitor of the machine, such as CoMon on PlanetLab, would say of a measurement.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from delaylab.api.verdicts import TRAFFIC_BPS
from delaylab_study.analysis.over_time.slowest import TrialTimes
from delaylab_study.analysis.packets.table import TRIAL

IN_USE = "in use"
"""Column of pooled packets: True if the machine or its network was in use; null if not known."""
BUSY = 0.1
"""Share of all CPUs' time from which the machine is in use."""


def in_use(trials: Sequence[TrialTimes]) -> pl.DataFrame:
    """Return `TRIAL`, `probe`, `seq` and `IN_USE` of every packet of some trials."""
    found = [
        _of_trial(trial).with_columns(pl.lit(index).alias(TRIAL))
        for index, trial in enumerate(trials)
    ]
    return pl.concat(found)


def _of_trial(trial: TrialTimes) -> pl.DataFrame:
    signs = [pl.col("busy") > BUSY, pl.col("traffic_bps") > TRAFFIC_BPS]
    used = pl.max_horizontal(signs)  # a sign that is not known is left out
    sampled = trial.record.select("time_ns", "since_ns", used.alias("used")).sort("time_ns")
    sent = trial.packets.scheduled.select(
        "probe", "seq", pl.coalesce("sent_ns", "intended_ns").alias("sent")
    ).sort("sent")
    found = sent.join_asof(sampled, left_on="sent", right_on="time_ns", strategy="forward")
    inside = pl.col("sent") > pl.col("since_ns")
    return found.select("probe", "seq", pl.when(inside).then("used").alias(IN_USE))
