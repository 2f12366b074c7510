"""Times after an event, one value for each trial: until it was noticed, until all was right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from delaylab_study.analysis.convergence.recorded import SeenEvent, SeenTrial
from delaylab_study.analysis.statistics.effects import UNKNOWN, Effect, estimate_of_few
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.dataset.records.tables import Schema

FEWEST = 3
"""The smallest number of trials of which a median has an interval."""


def outage_s(event: SeenEvent) -> float | None:
    """Return how long the longest black hole or loop after an event was; 0 without any.

    It is None if one had not ended with the observation.
    """
    lengths = [each.length_ns for each in (*event.holes, *event.loops)]
    known = [length for length in lengths if length is not None]
    return None if len(known) < len(lengths) else max(known, default=0) / 1e9


TIMES: dict[str, Callable[[SeenEvent], float | None]] = {
    "detected": lambda event: event.detected_s,
    "last change": lambda event: event.last_change_s,
    "right": lambda event: event.right_s if event.record.quiet_ns is None else None,
    "quiet": lambda event: event.by_rule_s if event.record.quiet_ns is not None else None,
    "converged": lambda event: event.by_rule_s,
    "outage": outage_s,
}
"""The times after an event in s by name, each None where a trial does not have it."""


def times_of(trials: list[SeenTrial], number: int, name: str) -> dict[int, float]:
    """Return a time after the event of this number, from 0 on, by the repeat of the trial.

    Times until the network had converged are of one rule: of those events whose right tables are
    known, or if there are none, of those that were waited for until all was quiet.
    """
    events = [trial.events[number] for trial in trials if number < len(trial.events)]
    if name == "converged":
        name = "right" if any(each.record.quiet_ns is None for each in events) else "quiet"
    found = {event.repeat: TIMES[name](event) for event in events}
    return {repeat: value for repeat, value in found.items() if value is not None}


EVENTS: Schema = {
    "number": pl.UInt32,
    "event": pl.String,
    "event_ns": pl.Int64,
    "until": pl.String,
    **dict.fromkeys(("detected_s", "last_change_s", "converged_s", "outage_s"), pl.Float64),
    "late_s": pl.Float64,
    "cpu_bound": pl.Boolean,
}
"""The columns of a table of events, one row for each event of a trial."""


def rows_of(trial: SeenTrial) -> pl.DataFrame:
    """Return the times after each event of a trial, one row for each."""
    rows = [
        {
            "number": number,
            "event": event.record.words,
            "event_ns": event.record.event_ns,
            "until": "right" if event.record.quiet_ns is None else "quiet",
            "detected_s": event.detected_s,
            "last_change_s": event.last_change_s,
            "converged_s": event.by_rule_s,
            "outage_s": outage_s(event),
            "late_s": event.record.late_ns / 1e9,
            "cpu_bound": event.is_cpu_bound,
        }
        for number, event in enumerate(trial.events, start=1)
    ]
    return pl.DataFrame(rows, schema=EVENTS)


def median_of(values: Floats) -> Effect:
    """Return the median of trials, with Student's interval from `FEWEST` trials on.

    No time is below 0, so the interval ends there.
    """
    if len(values) < FEWEST:
        return Effect(float(np.median(values)), UNKNOWN)
    found = estimate_of_few([values], lambda series: np.asarray(np.median(series[0], axis=-1)))
    low, high = found.interval
    return Effect(found.value, (max(0.0, low), high))
