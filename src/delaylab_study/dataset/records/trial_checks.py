"""Checks of a trial's record: parts that must agree with each other."""

from __future__ import annotations

from delaylab.api.conditions import NOTHING, check_configured
from delaylab_study.dataset.records.trial import START, PhaseTime, TrialRecord


def check_trial(trial: TrialRecord) -> None:
    """Raise ValueError if the parts of a trial's record contradict each other."""
    of_probe = [bool(trial.sender), bool(trial.responder), any(way.request for way in trial.ways)]
    if trial.status == "ok" and not all(of_probe) and (any(of_probe) or not trial.phases):
        what = "either a sender, a responder and a way, or phases alone"
        raise ValueError(f"a trial that is ok has {what}")
    _check_phases(trial.phases)
    for way in trial.ways:
        if (way.request or way.reply) and way.request[:1] != [START]:
            raise ValueError(f"ways: a request begins at {START}")
        if way.reply and way.reply[-1] != START:
            raise ValueError(f"ways: a reply ends at {START}")
    for engine in trial.links:
        for direction in engine.directions:
            for conditions in (direction.configured, direction.configured_first or NOTHING):
                try:
                    check_configured(conditions)
                except ValueError as error:
                    raise ValueError(f"link {direction.link}, asked: {error}") from None


def _check_phases(phases: list[PhaseTime]) -> None:
    """Raise ValueError unless phases follow one another, each once."""
    names = [phase.phase for phase in phases]
    if len(set(names)) < len(names):
        raise ValueError("phases: one is there twice")
    times = [time_ns for phase in phases for time_ns in (phase.start_ns, phase.end_ns)]
    if times != sorted(times):
        raise ValueError("phases: one ends before it begins, or before the one ahead of it")
