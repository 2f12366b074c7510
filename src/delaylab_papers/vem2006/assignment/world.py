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

SIZES = {"larger": (764, 40), "largest": (3068, 160)}
"""The links and machines of the networks that are larger than the others."""
USUAL = (188, 10)


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world.

    `over` is the load of the fullest machine over the least possible one, `fits` the share of
    networks that are assigned. The time is in ns, for a link and a machine; it grows with their
    product to the power of `growth`. `noise` is the spread from network to network as a share.
    """

    over: float = 1.03
    fits: float = 1.0
    time_ns: float = 400.0
    growth: float = 0.8
    noise: float = 0.02


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design whose figures follow from a truth."""
    return imagined_work(design, lambda: _planner(truth, design, random))


def _planner(truth: Truth, design: Design, random: Random) -> WorkDone:
    links, machines = SIZES.get(design.levels[NETWORK], USUAL)
    usual = USUAL[0] * USUAL[1]
    time_ns = truth.time_ns * usual * (links * machines / usual) ** truth.growth
    fits = random.random() < truth.fits
    values = {"links": float(links), "machines": float(machines), "fits": float(fits)}
    spread = random.standard_normal(2)
    over = max(1.0, truth.over * (1 + truth.noise * spread[0]))
    values["worst-fit-over"] = over if fits else 0.0
    values["worst-fit-across"] = 0.9
    values["worst-fit-time"] = time_ns * max(0.1, 1 + truth.noise * spread[1])
    figures = {name: (value, "") for name, value in values.items()}
    return imagined_command(PLANNER, "planner", figures)


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design of the study, drawn from what the paper expects."""
    return drawn(Truth(), design, random)
