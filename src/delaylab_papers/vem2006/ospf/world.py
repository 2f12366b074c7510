"""Trials of study vem2006-ospf as the paper would have them, or another truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from delaylab_study.papers.toolkit import (
    Design,
    EventRecord,
    Group,
    Happening,
    Random,
    SeenEvent,
    SeenTrial,
    changes_of_tables,
    imagined,
    imagined_events_trial,
)

from ..published import CONVERGENCE_S, DEAD_S
from .measures import DEAD_S as DEAD_OF_TIMERS
from .measures import DID, LEVELS

SECOND = 10**9
EACH_S = 200
"""The time from one event of an imagined trial to the next."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world: detection, convergence, that of one; in s, by test.

    `noise` is the spread of each time from trial to trial, as a share of it, and `jitter_s` in s.
    Times are those of a dead interval of 40 s; faster timers shorten them in proportion.
    """

    times_s: Mapping[str, tuple[float, float, float]] = field(
        default_factory=lambda: dict(CONVERGENCE_S)
    )
    noise: float = 0.05
    jitter_s: float = 0.02


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with events that follow from a truth."""
    faster = DEAD_OF_TIMERS[design.levels["timers"]] / DEAD_S
    level = design.levels["event"]
    tests = [test for test, levels in LEVELS.items() if level in levels]
    records, seen = [], []
    for repeat in range(1, design.trials + 1):
        events = [
            _event(truth, test, level, faster, number, repeat, random=random)
            for number, test in enumerate(tests)
        ]
        trial = imagined_events_trial(design, [each.record for each in events], repeat=repeat)
        records.append(trial)
        seen.append(SeenTrial(trial.id, events))
    return imagined(design, {}, trials=records, convergence=seen)


def _event(
    truth: Truth, test: str, level: str, faster: float, number: int, repeat: int, *, random: Random
) -> SeenEvent:
    detection_s, several_s, one_s = truth.times_s[test]
    is_one = LEVELS[test].index(level) == 1
    detected_ns = _ns(detection_s * faster, truth, random)
    last_ns = detected_ns + _ns((one_s if is_one else several_s) * faster, truth, random)
    event_ns = SECOND * (1 + EACH_S * number)
    part = Happening(did=DID[test], names=["x"], planned_ns=event_ns, began_ns=event_ns)
    record = EventRecord(
        parts=[part],
        event_ns=event_ns,
        until_ns=event_ns + EACH_S * SECOND,
        right_ns=event_ns + last_ns,
    )
    return SeenEvent(
        trial=f"repeat={repeat}",
        repeat=repeat,
        record=record,
        seen_ns=event_ns,
        adjacency_ns=event_ns + detected_ns,
        effect=changes_of_tables(event_ns, {"r": [event_ns + last_ns]}),
    )


def _ns(seconds: float, truth: Truth, random: Random) -> int:
    """Return a time with its spread, in ns; none is below 0."""
    drawn_s = seconds * (1 + truth.noise * random.normal()) + truth.jitter_s * random.random()
    return max(0, round(drawn_s * SECOND))


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design of the study, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
