"""Times of detection and of convergence after the events of study vem2006-ospf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import Floats, Group, SeenEvent, pick

DID = {
    "link down": "down",
    "link up": "up",
    "router down": "stop",
    "router up": "start",
    "router restart": "restart",
}
"""The paper's tests, and what the timeline does in each."""
LEVELS = {
    "link down": ("links", "link"),
    "link up": ("links", "link"),
    "router down": ("routers", "router"),
    "router up": ("routers", "router"),
    "router restart": ("restarts", "restart"),
}
"""The levels of `event` with each test: of several, and of one."""
DEAD_S = {"paper": 40.0, "fast": 4.0}
"""The dead interval by the level of `timers`."""
FEWEST = 2
"""The fewest trials that say anything of a test."""


@dataclass(frozen=True)
class Setting:
    """The daemon and the timers of trials."""

    timers: str
    daemon: str

    def __str__(self) -> str:
        return f"{self.daemon}, {self.timers} timers"


def settings(groups: list[Group]) -> Iterator[Setting]:
    """Yield the settings that trials have, each once, in the order of the groups."""
    yield from dict.fromkeys(
        Setting(group.factors["timers"], group.factors["daemon"])
        for group in groups
        if {"timers", "daemon", "event"} <= group.factors.keys()
    )


def groups_of(groups: list[Group], where: Setting, event: str) -> list[Group]:
    """Return the groups of a setting in which a level of `event` happened."""
    return pick(groups, timers=where.timers, daemon=where.daemon, event=event)


def events(groups: list[Group], where: Setting, test: str, *, single: bool) -> list[SeenEvent]:
    """Return the events of a test, one for each trial in which all of it happened."""
    level = LEVELS[test][single]
    return [
        event
        for group in groups_of(groups, where, level)
        for event in group.events
        if event.did == {DID[test]} and event.happened
    ]


def detection_s(events: list[SeenEvent]) -> Floats:
    """Return the times until the first change of an adjacency, of those that had one."""
    return np.array([each.detected_s for each in events if each.detected_s is not None])


def convergence_s(events: list[SeenEvent]) -> Floats:
    """Return the times from that change to the last one of a table."""
    return np.array([each.converged_s for each in events if each.converged_s is not None])
