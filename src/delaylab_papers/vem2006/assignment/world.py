"""Trials of study vem2006-assignment as the paper would have them, or another truth."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab_study.papers.toolkit import (
    Design,
    Group,
    Random,
    WorkDone,
    imagined_command,
    imagined_work,
)

from .measures import NETWORK, PLANNER

SIZES = {"cluster": (996, 50), "largest": (3068, 154), "small": (43, 3)}
USUAL = (188, 10)
PROVEN = "small"
"""The kind of networks of which the exact method proves the least load."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world.

    `ill` is the share of networks of which a constraint is violated. `by_number` and `by_bandwidth`
    are what the assignment needs, over a packing of bins.
    """

    ill: float = 0.0
    by_number: float = 1.0
    by_bandwidth: float = 1.0


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design whose figures follow from a truth."""
    return imagined_work(design, lambda: _planner(truth, design, random))


def _planner(truth: Truth, design: Design, random: Random) -> WorkDone:
    network = design.levels[NETWORK]
    links, machines = SIZES.get(network, USUAL)
    values = {
        "links": float(links),
        "machines": float(machines),
        "ill": float(random.random() < truth.ill),
        "by-number": truth.by_number,
    }
    if network == PROVEN:
        values["by-bandwidth"] = truth.by_bandwidth
    figures = {name: (value, "") for name, value in values.items()}
    return imagined_command(PLANNER, "planner", figures)


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design of the study, drawn from what the paper says."""
    return drawn(Truth(), design, random)
