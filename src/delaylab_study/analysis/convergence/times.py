"""Times after an event, one value for each trial: until it was noticed, until all was right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from delaylab_study.analysis.convergence.recorded import SeenEvent, SeenTrial
from delaylab_study.analysis.statistics.effects import Effect, estimate_of_few
from delaylab_study.analysis.statistics.runs import Floats

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


def median_of(values: Floats) -> Effect:
    """Return the median of trials, with Student's interval from `FEWEST` trials on."""
    if len(values) < FEWEST:
        return Effect(float(np.median(values)), (-np.inf, np.inf))
    return estimate_of_few([values], lambda series: np.asarray(np.median(series[0], axis=-1)))
