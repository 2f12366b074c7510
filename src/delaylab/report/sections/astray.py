"""Packets that were lost among routers or went in circles, in labs with routing daemons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.analysis.packets.astray import Astray, LostAt, RoutingLoop
from delaylab.charts import words
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report

SHOWN = 12
"""The largest number of sentences that the terminal shows for each trial."""


def terminal(report: Report, width: int) -> Iterator[Text]:
    """Yield a line for each place where packets were lost, and for each circle."""
    for group in report.groups:
        for found in _of(group):
            said = [*map(_circle, found.loops), *map(_lost, found.lost)]
            for line in said[:SHOWN]:
                yield Text(f"{group.label_of(found.trial)}: {line}", "yellow")
            if len(said) > SHOWN:
                more = f"{len(said) - SHOWN} more places; `delaylab show --json` has all"
                yield Text(f"{group.label_of(found.trial)}: {more}", "dim")


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return where packets of the trial were lost and went in circles; times in s."""
    found = [asdict(each) for each in (_of(group) if group else []) if each.trial == trial.id]
    return {"astray": found[0]} if found else {}


def html(report: Report) -> Html:
    """Return the sentences of each trial."""
    said = [
        (group.label_of(found.trial), [*map(_circle, found.loops), *map(_lost, found.lost)])
        for group in report.groups
        for found in _of(group)
    ]
    return Html({"astray": [(trial, lines) for trial, lines in said if lines]})


def _of(group: Group) -> list[Astray]:
    return group.packets.astray if group.packets else []


def _circle(loop: RoutingLoop) -> str:
    lost = "all of them lost" if loop.lost == loop.packets else f"{loop.lost} of them lost"
    rounds = "once" if loop.rounds == 1 else f"up to {loop.rounds} times"
    return (
        f"{loop.packets} {_leg(loop.leg, loop.packets)} went in a circle among "
        f"{', '.join(loop.routers)}, {rounds} around, {_when(loop.first_s, loop.last_s)}; {lost}"
    )


def _lost(lost: LostAt) -> str:
    router, at, link = lost.point.partition("@")
    where = f"{router} on link {link}" if at else lost.point
    return (
        f"{lost.packets} {_leg(lost.leg, lost.packets)} lost after {where}, "
        f"{_when(lost.first_s, lost.last_s)}"
    )


def _leg(leg: str, packets: int) -> str:
    one, many = ("request", "requests") if leg == "request" else ("reply", "replies")
    return one if packets == 1 else many


def _when(first_s: float, last_s: float) -> str:
    first, last = words.seconds(first_s), words.seconds(last_s)
    return f"at {first}" if first == last else f"from {first} to {last}"
