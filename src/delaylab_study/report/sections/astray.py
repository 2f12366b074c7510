"""Packets that were lost among routers or went in circles, in labs with routing daemons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.astray import Astray, LostAt, RoutingLoop
from delaylab_study.charts import words
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report

NOTE = (
    "Routing daemons decided the ways of these packets, and taps stood at all routers. A packet is "
    "lost where a point saw it last. It went in a circle if it came back to a router after another "
    "one. Times count from the first packet of the trial."
)
SHOWN = 12
"""The largest number of sentences that the terminal shows for each trial."""


def section(report: Report) -> v.Section:
    """Return the sentences of each trial: where packets were lost, and each circle."""
    said = [
        (group.label_of(found.trial), [*map(_circle, found.loops), *map(_lost, found.lost)])
        for group in report.groups
        for found in _of(group)
    ]
    parts = [part for trial, lines in said if lines for part in _trial(trial, lines)]
    return v.Section(
        "astray",
        [v.Heading("Packets lost among routers", 2), v.note(NOTE), *parts] if parts else [],
    )


def _trial(trial: str, lines: list[str]) -> Iterator[v.Part]:
    yield v.Heading(trial)
    yield v.Items(lines)
    yield from (v.Line(f"{trial}: {line}", "open", on=v.TERMINAL) for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        more = f"{len(lines) - SHOWN} more places; `delaylab show --json` has all"
        yield v.Line(f"{trial}: {more}", "faint", on=v.TERMINAL)


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return where packets of the trial were lost and went in circles; times in s."""
    found = [asdict(each) for each in (_of(group) if group else []) if each.trial == trial.id]
    return {"astray": found[0]} if found else {}


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
