"""Trials of study vem2006-clocks as the paper would have them, or another truth."""

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

from ..published import CLOCKS_US
from .measures import CHRONY, SENDER

BELOW = 0.7
"""The clocks' distance in the imagined world over that of the paper, which is an upper bound."""
UNSYNCHRONISED_US = 200_000.0
SPREAD_US = 150.0
"""The time between the notes of two programs of one machine."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world: clocks' distance in µs, and its spread over trials."""

    clocks_us: float = BELOW * CLOCKS_US
    noise: float = 0.1


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design whose figures follow from a truth."""
    return imagined_work(design, lambda: _sender(truth, design, random))


def _sender(truth: Truth, design: Design, random: Random) -> WorkDone:
    machines, nodes = int(design.levels["machines"]), int(design.levels["nodes"])
    synchronised = design.levels["sync"] == CHRONY
    apart_us = truth.clocks_us if synchronised else UNSYNCHRONISED_US
    apart_us *= max(0.1, 1 + truth.noise * random.standard_normal())
    clocks_us = apart_us if machines > 1 else 0.0
    values = {
        "machines": (float(machines), ""),
        "clocks": (1e3 * clocks_us, "ns"),
        "widest": (2e3 * clocks_us, "ns"),
        "spread": (1e3 * (clocks_us + SPREAD_US * (nodes - 1)), "ns"),
        "said": (2e3 * truth.clocks_us if synchronised and machines > 1 else 0.0, "ns"),
        "heard": (1.0, "share"),
    }
    return imagined_command(SENDER, "source", values)


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design of the study, drawn from the paper's own number."""
    return drawn(Truth(), design, random)
