"""Times at which machines got the same broadcast, as the study's sender printed them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import Floats, Group, pick, printed

SENDER = "send"
"""The work whose node sends events, and prints what all machines noted."""
MACHINES = ("qemu",)
"""The kinds of the nodes that stand for machines."""
CHRONY = "chrony"
LEAST_HEARD = 0.9
"""The smallest share of events that all receivers must have got for a trial to count."""
FEWEST = 2
"""The fewest trials that say anything of a setting."""


@dataclass(frozen=True)
class Setting:
    """A program that sets clocks, the number of machines, and of receivers on each."""

    sync: str
    machines: int
    nodes: int

    def __str__(self) -> str:
        machines = "1 machine" if self.machines == 1 else f"{self.machines} machines"
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        by = "by chrony" if self.sync == CHRONY else "not synchronised"
        return f"{machines} with {nodes}, {by}"


def settings(groups: list[Group]) -> Iterator[Setting]:
    """Yield the settings of the study, each once, in the order of the groups."""
    found = (
        Setting(group.factors["sync"], int(group.factors["machines"]), int(group.factors["nodes"]))
        for group in groups
        if {"sync", "machines", "nodes"} <= group.factors.keys()
    )
    yield from dict.fromkeys(found)


def groups_of(groups: list[Group], where: Setting) -> list[Group]:
    """Return the groups of a setting."""
    return pick(groups, sync=where.sync, machines=str(where.machines), nodes=str(where.nodes))


def figures(groups: list[Group], where: Setting, name: str) -> Floats:
    """Return a figure of the sender, one of each trial in which receivers got almost all events."""
    return np.array(
        [
            value
            for group in groups_of(groups, where)
            for trial in group.trials
            if (found := printed(trial, SENDER)).get("heard", 0.0) >= LEAST_HEARD
            and (value := found.get(name)) is not None
        ]
    )
