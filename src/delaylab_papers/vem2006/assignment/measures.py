"""Figures of assignments, as the study's planner printed them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from delaylab_study.papers.toolkit import Floats, Group, pick, printed

PLANNER = "assign"
"""The work that assigns the routers of a network to machines."""
NETWORK = "network"
"""The factor that says which network."""


def networks(groups: list[Group]) -> Iterator[str]:
    """Yield the kinds of networks, each once, in the order of the groups."""
    if any(printed(trial, PLANNER) for group in groups for trial in group.trials):
        yield from dict.fromkeys(
            group.factors[NETWORK] for group in groups if NETWORK in group.factors
        )


def groups_of(groups: list[Group], network: str) -> list[Group]:
    """Return the groups of a kind of network, one for each seed."""
    return pick(groups, network=network)


def figures(groups: list[Group], network: str, name: str) -> Floats:
    """Return a figure of the planner, one of each trial that has it."""
    return np.array(
        [
            found[name]
            for group in groups_of(groups, network)
            for trial in group.trials
            if name in (found := printed(trial, PLANNER))
        ]
    )
