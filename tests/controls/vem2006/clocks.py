"""Controls of vem2006's claim on the clocks of machines, section VI A."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from delaylab.analysis.claims.imagined import Design, Random
from delaylab.analysis.group import Group
from delaylab.papers.studies import find
from delaylab.spec.study.combine import combinations
from delaylab.spec.study.load import load_study
from delaylab_papers.vem2006.clocks.claims import CLAIMS
from delaylab_papers.vem2006.clocks.world import Truth, drawn
from delaylab_papers.vem2006.published import CLOCKS_US
from tests.controls.control import World, controls

REPEATS = 3


def world(truth: Truth) -> World:
    """The trials of the study, as its quick design has them."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, design, random) for design in designs()]

    return draw


@cache
def designs() -> tuple[Design, ...]:
    """Return the designs of the study's quick scale."""
    study = load_study(find("vem2006-clocks"))
    return tuple(
        Design(dict(each.levels), "qemu", packets=0, trials=REPEATS)
        for each in combinations(study, "quick")
    )


PAPER = Truth()

_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "clocks-within-300us",
        # Twice as far apart as the paper says; hardly synchronised; half as far as the paper's.
        replace(PAPER, clocks_us=2 * CLOCKS_US),
        replace(PAPER, clocks_us=20 * CLOCKS_US),
        replace(PAPER, clocks_us=PAPER.clocks_us / 2),
        "reproduced",
    ),
)
