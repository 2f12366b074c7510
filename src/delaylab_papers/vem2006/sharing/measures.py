"""Times of events on nodes that share a CPU, as the study's sender printed them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import Floats, Group, pick, printed

SENDER = "send"
"""The work whose node sends events, and prints what all nodes noted."""
REST = "rest"
LEAST_HEARD = 0.9
"""The smallest share of events that all nodes must have got for a trial to count."""
FEWEST = 2
"""The fewest trials that say anything of a setting."""


@dataclass(frozen=True)
class Setting:
    """The test that trials ran, the kind and the number of nodes, and their load."""

    test: str
    nodes: int
    load: str
    kind: str

    @property
    def is_loaded(self) -> bool:
        """Return True if nodes sent bulk TCP meanwhile."""
        return self.load != REST

    def __str__(self) -> str:
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        return f"{nodes}, {'under load' if self.is_loaded else 'at rest'}, {self.kind}"


def settings(groups: list[Group], test: str) -> Iterator[Setting]:
    """Yield the settings of a test, each once, in the order of the groups."""
    found = (
        Setting(test, int(group.factors["nodes"]), group.factors["load"], group.factors["kind"])
        for group in groups
        if {"test", "nodes", "load", "kind"} <= group.factors.keys()
        and group.factors["test"] == test
    )
    yield from dict.fromkeys(found)


def groups_of(groups: list[Group], where: Setting) -> list[Group]:
    """Return the groups of a setting."""
    return pick(groups, test=where.test, nodes=str(where.nodes), load=where.load, kind=where.kind)


def figures(groups: list[Group], where: Setting, name: str) -> Floats:
    """Return a figure of the sender, one of each trial in which nodes got almost all events."""
    return np.array(
        [
            value
            for group in groups_of(groups, where)
            for trial in group.trials
            if (found := printed(trial, SENDER)).get("heard", 0.0) >= LEAST_HEARD
            and (value := found.get(name)) is not None
        ]
    )
