"""Times of detection and of convergence after the events of study vem2006-ospf.

Times with timers of a fifth are multiplied by five, so that they compare with the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import Floats, Group, SeenEvent, pick

KINDS = ("netns",)
"""The kinds of the nodes that run daemons."""
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
NUMBER = {"link down": 0, "link up": 1, "router down": 0, "router up": 2, "router restart": 0}
"""The number of each test's event in its timeline; the event before `router up` kills."""
SLOWER = {"paper": 1.0, "fast": 5.0}
"""The paper's timers over those of a level of `timers`."""
NBMA = "nbma"
"""The level of `network` that figure 21 is of: see the head of the study."""
FRR = "frr"
"""The level of `daemon` that follows the paper's, Quagga."""
FEWEST = 2
"""The fewest trials that say anything of a test."""


@dataclass(frozen=True)
class Setting:
    """The daemon, the type of network and the timers of trials."""

    timers: str
    daemon: str
    network: str

    @property
    def is_as_figure(self) -> bool:
        """Return True if figure 21 is of this type of network, and of a daemon of this kind."""
        return self.network == NBMA and self.daemon == FRR

    @property
    def slower(self) -> float:
        """Return the paper's timers over those of the trials."""
        return SLOWER[self.timers]

    def __str__(self) -> str:
        timers = "the paper's timers" if self.slower == 1 else f"timers ÷ {self.slower:.0f}"
        return f"{self.daemon}, {self.network}, {timers}"


def settings(groups: list[Group]) -> Iterator[Setting]:
    """Yield the settings that trials have, each once, in the order of the groups."""
    yield from dict.fromkeys(
        Setting(group.factors["timers"], group.factors["daemon"], group.factors["network"])
        for group in groups
        if {"timers", "daemon", "network", "event"} <= group.factors.keys()
    )


def groups_of(groups: list[Group], where: Setting, event: str) -> list[Group]:
    """Return the groups of a setting in which a level of `event` happened."""
    return pick(
        groups, timers=where.timers, daemon=where.daemon, network=where.network, event=event
    )


def events(groups: list[Group], where: Setting, test: str, *, single: bool) -> list[SeenEvent]:
    """Return the events of a test, one for each trial in which all of it happened."""
    level = LEVELS[test][single]
    return [
        event
        for group in groups_of(groups, where, level)
        for event in group.events
        if event.did == {DID[test]} and event.happened
    ]


def detection_s(groups: list[Group], where: Setting, test: str, *, single: bool) -> Floats:
    """Return the times until the first change of an adjacency, of those that had one."""
    found = events(groups, where, test, single=single)
    return where.slower * np.array(
        [each.detected_s for each in found if each.detected_s is not None]
    )


def convergence_s(groups: list[Group], where: Setting, test: str, *, single: bool) -> Floats:
    """Return the times from that change to the last one of a table.

    An event is left out if tables were still wrong when its trial ended: they had not converged.
    """
    found = events(groups, where, test, single=single)
    return where.slower * np.array(
        [
            each.converged_s
            for each in found
            if each.converged_s is not None and each.record.wrong is None
        ]
    )
