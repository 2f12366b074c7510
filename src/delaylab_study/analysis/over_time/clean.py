"""Packets that the use of the sender's machine may have biased, and the estimate of clean ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.verdicts import BIAS_RULE, clean_share
from delaylab_study.analysis.packets import rtt
from delaylab_study.analysis.packets.table import MEASURED, TRIAL, Packets
from delaylab_study.analysis.statistics.quantiles import Summary, summarise
from delaylab_study.analysis.statistics.runs import Floats, by_trial
from delaylab_study.dataset.bias import SENT_AGAIN, evidence_of, reasons_of
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way
from delaylab_study.dataset.store import Study

IS_CLEAN = "clean"
"""Column of packets: True if the machine's use did not bias it; null if that is not known."""


@dataclass(frozen=True, slots=True)
class Between:
    """Times between neighbouring packets in ms: quantiles, and the longest."""

    median: float
    p90: float
    longest: float


@dataclass(frozen=True, slots=True)
class CleanSamples:
    """Delays of judged packets in ns, on schedule and sent again, each with `IS_CLEAN`."""

    table: pl.DataFrame

    def clean_of(self, name: str) -> list[Floats]:
        """Return a delay of clean packets in µs by its name, for each trial that has some."""
        return _run(self.table.filter(IS_CLEAN), name)

    def on_schedule_of(self, name: str) -> list[Floats]:
        """Return a delay of all packets on schedule in µs, for each trial that has some."""
        return _run(self.table.filter(pl.col("phase") == MEASURED), name)

    @property
    def refused(self) -> list[NDArray[np.bool_]]:
        """Return for each trial which of its answered packets on schedule were not clean."""
        known = self.table.filter(pl.col("phase") == MEASURED)
        marks = ~known[IS_CLEAN].fill_null(value=False).to_numpy()
        return by_trial(marks, known[TRIAL].to_numpy())


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanSeen:
    """Packets of a group's trials, judged by the use of the sender's machine.

    Of all that were sent on schedule and `again`, some were `kept` as clean; the others were
    refused (`refused_for` counts reasons, of which a packet may have several), or are `unknown`.
    `refused_on_schedule` of `on_schedule` packets were refused. User RTTs are in µs: `raw` of all
    packets on schedule, `clean` of the clean ones, also apart as `clean_on_schedule` and
    `clean_again`. `share_of_time` is the share of the time at which a packet would have been clean,
    `waited_s` the time in which the machine was waited for, over all trials. `every_raw` and
    `every_clean` are the times between neighbouring packets. `samples` has the delays of all judged
    packets.
    """

    asked: int
    kept: int
    refused: int
    unknown: int
    refused_for: Mapping[str, int]
    on_schedule: int
    refused_on_schedule: int
    again: int
    budget: int
    waited_s: float
    ended_by: Mapping[str, int]
    share_of_time: float | None
    raw: Summary
    clean: Summary
    clean_on_schedule: Summary
    clean_again: Summary
    every_raw: Between | None
    every_clean: Between | None
    samples: CleanSamples = field(repr=False, compare=False)


def clean_seen(
    study: Study, trials: Sequence[TrialRecord], packets: Packets, way: Way
) -> CleanSeen | None:
    """Return what the machine's use says of a group's packets; None if no trial has `clean`.

    `packets` are those of all phases, numbered by trial.
    """
    marks, shares, reasons = list[pl.DataFrame](), list[float](), Counter[str]()
    for number, trial in enumerate(trials):
        if trial.clean is None:
            continue
        evidence = evidence_of(trial.clean, study.hosts(trial.id))
        probes = study.probes(trial.id).filter(pl.col("phase").is_in([MEASURED, SENT_AGAIN]))
        found = reasons_of(evidence, probes, study.stamps(trial.id))
        reasons.update(reason for each in found.values() for reason in each or ())
        marks.append(
            pl.DataFrame(
                {
                    TRIAL: [number] * len(found),
                    "seq": list(found),
                    IS_CLEAN: [None if each is None else not each for each in found.values()],
                },
                schema={TRIAL: pl.Int64, "seq": pl.Int64, IS_CLEAN: pl.Boolean},
            )
        )
        due = probes["intended_ns"].to_numpy()
        share = clean_share(evidence, int(due.min()), int(due.max())) if len(due) else None
        shares += [] if share is None else [share]
    if not marks:
        return None
    judged = pl.concat(marks)
    samples = _samples(packets, way).join(judged, on=[TRIAL, "seq"], how="left")
    records = [trial.clean for trial in trials if trial.clean is not None]
    scheduled = packets.scheduled.select(pl.col(TRIAL, "seq").cast(pl.Int64), "phase")
    marked = judged.join(scheduled, on=[TRIAL, "seq"], how="left")
    on_schedule = marked.filter(pl.col("phase") == MEASURED)
    first = samples.filter(pl.col("phase") == MEASURED)
    clean = samples.filter(IS_CLEAN)
    return CleanSeen(
        asked=sum(each.asked for each in records),
        kept=int(judged[IS_CLEAN].sum()),
        refused=int((~judged[IS_CLEAN]).sum()),
        unknown=judged[IS_CLEAN].null_count(),
        refused_for={name: reasons[name] for name in BIAS_RULE if reasons[name]},
        on_schedule=len(on_schedule),
        refused_on_schedule=int((~on_schedule[IS_CLEAN]).sum()),
        again=sum(each.sent for each in records),
        budget=sum(each.budget for each in records),
        waited_s=sum(each.waited_ns for each in records) / 1e9,
        ended_by=Counter(each.ended_by for each in records),
        share_of_time=float(np.mean(shares)) if shares else None,
        raw=summarise(_run(first, "app", 1)),
        clean=summarise(_run(clean, "app", 1)),
        clean_on_schedule=summarise(_run(first.filter(IS_CLEAN), "app", 1)),
        clean_again=summarise(_run(clean.filter(pl.col("phase") == SENT_AGAIN), "app", 1)),
        every_raw=_between(first),
        every_clean=_between(clean),
        samples=CleanSamples(samples),
    )


def _samples(packets: Packets, way: Way) -> pl.DataFrame:
    """Return the delays of packets on schedule and sent again, in the order of sending."""
    judged = packets.filter(pl.col("phase").is_in([MEASURED, SENT_AGAIN])).complete(way)
    keys = judged.scheduled.select(pl.col(TRIAL, "seq").cast(pl.Int64), "phase", "intended_ns")
    return rtt.round_trips(judged).hstack(keys).sort(TRIAL, "seq")


def _run(samples: pl.DataFrame, name: str, unit: float = 1000) -> list[Floats]:
    """Return a delay of packets by its name for each trial; `unit` is in ns."""
    known = samples.select(TRIAL, name).drop_nulls()
    return by_trial(known[name].to_numpy() / unit, known[TRIAL].to_numpy())


def _between(samples: pl.DataFrame) -> Between | None:
    """Return the times between neighbouring packets of a trial; None if no trial has two."""
    ns = samples.select(pl.col("intended_ns").diff().over(TRIAL).alias("ns"))["ns"].drop_nulls()
    if not len(ns):
        return None
    median, p90 = np.quantile(ns.to_numpy(), [0.5, 0.9]) / 1e6
    return Between(float(median), float(p90), float(ns.to_numpy().max()) / 1e6)
