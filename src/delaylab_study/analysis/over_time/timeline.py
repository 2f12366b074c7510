"""Round trips of a trial over time, beside the state of the machine: few points, every spike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from delaylab_study.analysis.over_time.outages import Outage, outages
from delaylab_study.analysis.over_time.slowest import TrialTimes
from delaylab_study.analysis.packets.rtt import user_rtts
from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.dataset.records.outcomes import NO_REPLY, NOT_SENT

# Number of stretches of equal count that packets are reduced to; two packets of each are kept.
STRETCHES = 120
"""Outcomes of packets that never left the sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RttsOverTime:
    """User RTTs in µs of a trial over time, and shares of the machine's time.

    Times are seconds from the trial's first packet on. Of each stretch of packets the slowest and
    the middle one are kept, so that no spike is left out. `states` has the columns `after_s`,
    `busy`, `steal` and `pressure`, one row for each interval of the machine's record. `load_s` is
    when the first and the last packet under load were sent. `lost_s` is when each packet was sent
    that never got a reply, and `outages` are runs of these.
    """

    trial: str
    after_s: Floats
    user_us: Floats
    phases: list[str]
    states: pl.DataFrame
    load_s: tuple[float, float] | None
    lost_s: Floats
    outages: list[Outage]


def timeline(trial: TrialTimes, measured: str) -> RttsOverTime:
    """Return a trial's timeline; `measured` is the phase under load."""
    start = trial.start_ns
    sent = pl.coalesce("sent_ns", "intended_ns")
    packets = trial.packets.scheduled.select(
        ((sent - start) / 1e9).alias("after_s"),
        pl.col("phase"),
        pl.col("outcome").is_in(NO_REPLY).alias("lost"),
        pl.col("outcome").is_in(NOT_SENT).alias("not sent"),
        (user_rtts(trial.packets) / 1000).alias("us"),
    ).sort("after_s", maintain_order=True)
    sent_packets = packets.filter(~pl.col("not sent"))
    lost = sent_packets["lost"].to_numpy()
    sent_s = sent_packets["after_s"].to_numpy()
    load = packets.filter(pl.col("phase") == measured)["after_s"]
    answered = packets.drop_nulls("us")
    kept = answered[_kept(answered["us"].to_numpy())]
    states = trial.record.select(
        ((pl.col("time_ns") - start) / 1e9).alias("after_s"), "busy", "steal", "pressure"
    )
    return RttsOverTime(
        trial=trial.id,
        after_s=kept["after_s"].to_numpy(),
        user_us=kept["us"].to_numpy(),
        phases=kept["phase"].cast(pl.String).to_list(),
        states=states,
        load_s=(float(load[0]), float(load[-1])) if len(load) else None,
        lost_s=sent_s[lost],
        outages=outages(sent_s, lost),
    )


def _kept(values: Floats) -> list[int]:
    """Return the positions of the slowest and the middle packet of each stretch."""
    if len(values) <= 2 * STRETCHES:
        return list(range(len(values)))
    kept: set[int] = set()
    edges = np.linspace(0, len(values), STRETCHES + 1).astype(np.intp)
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        order = np.argsort(values[start:end], kind="stable")
        kept |= {start + int(order[-1]), start + int(order[len(order) // 2])}
    return sorted(kept)
