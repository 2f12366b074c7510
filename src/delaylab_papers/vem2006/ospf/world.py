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

from ..published import CONVERGENCE_S, NOTICED_S
from .measures import DID, LEVELS, NBMA, SLOWER
from .tolerance import CONVERGED_BY_HELLOS, DETECTED_BY_HELLOS, between_means_s

SECOND = 10**9
OFF_FIGURE_S = {
    **CONVERGENCE_S,
    "router down": (sum(NOTICED_S) / 2, *CONVERGENCE_S["router down"][1:]),
}
"""Times on links that are not NBMA, of which the paper has none but those of its sentences."""
EACH_S = 200
"""The time from one event of an imagined trial to the next."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world: detection, convergence, that of one; in s, by test.

    `times_s` are those on NBMA links, `others_s` those on point-to-point ones. `spread_s` is the
    standard deviation from trial to trial, of times that hello packets decide (True) and of others;
    the paper gives neither. One link or router is detected later than several by `one_later` times
    what means of the paper may be apart. Times are those of the paper's timers; faster ones shorten
    them in proportion.
    """

    times_s: Mapping[str, tuple[float, float, float]] = field(
        default_factory=lambda: dict(CONVERGENCE_S)
    )
    others_s: Mapping[str, tuple[float, float, float]] = field(
        default_factory=lambda: dict(OFF_FIGURE_S)
    )
    one_later: float = 0.0
    spread_s: Mapping[bool, float] = field(default_factory=lambda: {True: 0.5, False: 0.1})


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with events that follow from a truth."""
    tests = [test for test, levels in LEVELS.items() if design.levels["event"] in levels]
    records, seen = [], []
    for repeat in range(1, design.trials + 1):
        events = [
            _event(test, number, repeat, _times_ns(truth, design, test, random))
            for number, test in enumerate(tests)
        ]
        trial = imagined_events_trial(design, [each.record for each in events], repeat=repeat)
        records.append(trial)
        seen.append(SeenTrial(trial.id, events))
    return imagined(design, {}, trials=records, convergence=seen)


def _times_ns(truth: Truth, design: Design, test: str, random: Random) -> tuple[int, int]:
    """Return the time until a test's event is detected, and from then until all tables are right.

    None is below 0.
    """
    is_figure = design.levels["network"] == NBMA
    detection_s, several_s, one_s = (truth.times_s if is_figure else truth.others_s)[test]
    is_one = LEVELS[test].index(design.levels["event"]) == 1
    by_hellos = test in DETECTED_BY_HELLOS, test in CONVERGED_BY_HELLOS
    if is_one:
        detection_s += truth.one_later * between_means_s(by_hellos=by_hellos[0])
    means_s = detection_s, one_s if is_one else several_s
    detected_ns, later_ns = (
        max(0, round(SECOND / SLOWER[design.levels["timers"]] * random.normal(mean, spread)))
        for mean, spread in zip(means_s, (truth.spread_s[each] for each in by_hellos), strict=True)
    )
    return detected_ns, later_ns


def _event(test: str, number: int, repeat: int, times_ns: tuple[int, int]) -> SeenEvent:
    detected_ns, later_ns = times_ns
    last_ns = detected_ns + later_ns
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


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design of the study, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
