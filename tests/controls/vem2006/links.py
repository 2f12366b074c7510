"""Controls of vem2006's claims on links, drawn from its figures 16 to 19."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from delaylab_papers.vem2006.links.claims import CLAIMS
from delaylab_papers.vem2006.links.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from tests.controls.control import World, controls

PACKETS, BLOCKS = 3000, 3


def world(truth: Truth) -> World:
    """The trials of the study, as its quick design has them."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, design, random) for design in _designs()]

    return draw


@cache
def _designs() -> tuple[Design, ...]:
    study = load_study(find("vem2006"))
    return tuple(
        Design(dict(each.levels), "netns", packets=PACKETS, trials=BLOCKS)
        for each in combinations(study, "quick")
    )


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "delayed-at-least-as-asked",
        replace(PAPER, early=0.05),
        replace(PAPER, early=0.5),
        replace(PAPER, early=0.01),
        "contradicted",
    ),
    _control(
        "delay-true-at-rest",
        replace(PAPER, error=2.0),
        replace(PAPER, error=10.0),
        replace(PAPER, error=1.5),
        "contradicted",
    ),
    _control(
        "delay-true-under-load",
        replace(PAPER, error=2.0),
        replace(PAPER, error=10.0),
        replace(PAPER, error=1.5),
        "contradicted",
    ),
    _control(
        "rate-close-to-asked",
        replace(PAPER, rate=3.0),
        replace(PAPER, rate=4.0),
        replace(PAPER, rate=1.5),
        "contradicted",
    ),
    _control(
        "rate-less-true-for-slow-and-small",
        replace(PAPER, small_and_slow=0.0, rate=0.0),
        replace(PAPER, small_and_slow=0.0),
        replace(PAPER, small_and_slow=0.5),
        "reproduced",
    ),
    _control(
        "delay-costs-no-rate",
        replace(PAPER, by_delay=0.1),
        replace(PAPER, by_delay=0.5),
        replace(PAPER, by_delay=0.05),
        "contradicted",
    ),
    _control(
        "loss-as-asked",
        replace(PAPER, beside=0.02),
        replace(PAPER, beside=0.7),
        replace(PAPER, lost=0.015),
        "contradicted",
    ),
)
