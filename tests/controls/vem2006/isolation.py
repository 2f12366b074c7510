"""Controls of vem2006's claims on isolation, end of section IV C."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from delaylab.analysis.claims.imagined import Design, Random
from delaylab.analysis.group import Group
from delaylab.papers.studies import find
from delaylab.spec.study.combine import combinations
from delaylab.spec.study.load import load_study
from delaylab_papers.vem2006.isolation.claims import CLAIMS
from delaylab_papers.vem2006.isolation.world import Truth, drawn
from tests.controls.control import World, controls

PACKETS, BLOCKS = 0, 3


def world(truth: Truth) -> World:
    """The trials of the study, as its quick design has them."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, design, random) for design in designs()]

    return draw


@cache
def designs() -> tuple[Design, ...]:
    """Return the designs of the study's quick scale."""
    study = load_study(find("vem2006-isolation"))
    return tuple(
        Design(dict(each.levels), each.levels["kind"], packets=PACKETS, trials=BLOCKS)
        for each in combinations(study, "quick")
    )


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "isolated-shaped-as-asked",
        replace(PAPER, shaper=1.1),
        replace(PAPER, shaper=0.5),
        replace(PAPER, late_us=400.0),
        "contradicted",
    ),
    _control(
        "isolated-unshaped-unmoved",
        replace(PAPER, shaping_takes=0.1),
        replace(PAPER, shaping_takes=0.5),
        replace(PAPER, shaping_takes=0.005),
        "reproduced",
    ),
    _control(
        "isolated-from-hog",
        replace(PAPER, hog_takes=0.1),
        replace(PAPER, hog_takes=0.5),
        replace(PAPER, hog_takes=0.01),
        "reproduced",
    ),
)
