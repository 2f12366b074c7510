"""Controls of vem2006's claims on the convergence of OSPF, section V C."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab_papers.vem2006.ospf.claims import AS_LONG, CLAIMS, LONGER
from delaylab_papers.vem2006.ospf.world import Truth, drawn
from delaylab_papers.vem2006.published import CONVERGENCE_S
from tests.controls.control import controls, of_study

REPEATS = 3

world = of_study("vem2006-ospf", drawn, REPEATS, "netns")


def truth(**times_s: tuple[float, float, float]) -> Truth:
    """Return the paper's truth but for these tests, whose names have `_` for a space."""
    changed = {name.replace("_", " "): times for name, times in times_s.items()}
    return Truth({**CONVERGENCE_S, **changed})


def ratios(tests: Iterable[str], ratio: float) -> Truth:
    """Return the truth in which several take `ratio` times as long as one in these tests."""
    changed = {
        test: (CONVERGENCE_S[test][0], ratio * CONVERGENCE_S[test][2], CONVERGENCE_S[test][2])
        for test in tests
    }
    return Truth({**CONVERGENCE_S, **changed})


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "ospf-link-down-at-once",
        truth(link_down=(20, 2, 2)),
        truth(link_down=(40, 2, 2)),
        truth(link_down=(5, 2, 2)),
        "reproduced",
    ),
    _control(
        "ospf-link-up-takes-longer",
        truth(link_up=(0, 2, 2)),
        truth(link_up=(0, 2, 2), link_down=(41, 25, 9)),
        truth(link_up=(20, 12, 5)),
        "reproduced",
    ),
    _control(
        "ospf-router-down-by-hellos",
        truth(router_down=(1, 17, 2)),
        truth(router_down=(80, 17, 2)),
        truth(router_down=(13, 17, 2)),
        "contradicted",
    ),
    _control(
        "ospf-several-take-longer",
        ratios(LONGER, 1.0),
        ratios(LONGER, 0.3),
        ratios(LONGER, 1.6),
        "reproduced",
    ),
    _control(
        "ospf-others-take-as-long",
        ratios(AS_LONG, 3.0),
        ratios(AS_LONG, 6.0),
        ratios(AS_LONG, 1.5),
        "reproduced",
    ),
)
