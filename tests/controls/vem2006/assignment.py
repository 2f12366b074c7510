"""Controls of vem2006's claims on the assignment of routers to machines, section III C."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from delaylab.analysis.claims.imagined import Design, Random
from delaylab.analysis.group import Group
from delaylab.papers.studies import find
from delaylab.spec.study.combine import combinations
from delaylab.spec.study.load import load_study
from delaylab_papers.vem2006.assignment.claims import CLAIMS
from delaylab_papers.vem2006.assignment.world import Truth, drawn
from tests.controls.control import World, controls


def world(truth: Truth) -> World:
    """The trials of the study, as its quick design has them."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, design, random) for design in designs()]

    return draw


@cache
def designs() -> tuple[Design, ...]:
    """Return the designs of the study's quick scale."""
    study = load_study(find("vem2006-assignment"))
    return tuple(
        Design(dict(each.levels), "netns", packets=0, trials=1)
        for each in combinations(study, "quick")
    )


PAPER = Truth()

_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "assignment-worst-fit-even",
        # Too full by twice what is allowed; many networks without an assignment; half as full.
        replace(PAPER, over=1.2),
        replace(PAPER, over=1.6, fits=0.5),
        replace(PAPER, over=1.015),
        "reproduced",
    ),
    _control(
        "assignment-time-linear",
        replace(PAPER, growth=1.1),
        replace(PAPER, growth=2.0),
        replace(PAPER, growth=0.9),
        "reproduced",
    ),
)
