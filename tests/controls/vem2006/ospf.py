"""Controls of vem2006's claims on the convergence of OSPF, section V C."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from delaylab_papers.vem2006.ospf.claims import ALIKE_S, AS_LONG, CLAIMS, LONGER
from delaylab_papers.vem2006.ospf.tolerance import (
    convergence_tolerance_s,
    detection_tolerance_s,
)
from delaylab_papers.vem2006.ospf.world import OFF_FIGURE_S, Truth, drawn
from delaylab_papers.vem2006.published import CONVERGENCE_S
from tests.controls.control import Control, of_sentences

MORE = 1.2
"""Factor by which a false time is beyond the bound of its claim."""
Times = tuple[float, float, float]


def truth(**times_s: Times) -> Truth:
    """Return the paper's truth but for these tests, whose names have `_` for a space."""
    changed = {name.replace("_", " "): times for name, times in times_s.items()}
    return Truth({**CONVERGENCE_S, **changed}, {**OFF_FIGURE_S, **changed})


def apart(tests: Iterable[str], factor: float) -> Truth:
    """Return the truth in which several take longer than one, by a factor of figure 21's."""
    changed = {}
    for test in tests:
        detection, several, one = CONVERGENCE_S[test]
        changed[test] = (detection, one + factor * (several - one), one)
    return Truth({**CONVERGENCE_S, **changed})


def unlike(tests: Iterable[str], factor: float) -> Truth:
    """Return the truth in which several take longer than one by a factor of what is alike."""
    changed = {}
    for test in tests:
        detection, _, one = CONVERGENCE_S[test]
        changed[test] = (detection, one + factor * ALIKE_S[test], one)
    return Truth({**CONVERGENCE_S, **changed})


def off(test: str, factor: float) -> Truth:
    """Return the truth in which a test takes longer, by a factor of what is allowed."""
    detection, several, one = CONVERGENCE_S[test]
    later = factor * convergence_tolerance_s(test)
    times = (detection + factor * detection_tolerance_s(test), several + later, one + later)
    return Truth({**CONVERGENCE_S, test: times})


def fifth_off(test: str) -> Truth:
    """Return the truth in which convergence alone is beyond its bound, by a fifth of that."""
    return replace(
        PAPER,
        times_s={
            **CONVERGENCE_S,
            test: (CONVERGENCE_S[test][0], *off(test, MORE).times_s[test][1:]),
        },
    )


PAPER = Truth()
_control = of_sentences(CLAIMS, "vem2006-ospf", drawn, PAPER)


def _size(claim: str, test: str) -> Control:
    return _control(
        claim,
        false=fifth_off(test),
        by="convergence is off by 1.2 of what is allowed",
        opposite=off(test, 4),
    )


UP_DOWN, UP, ONE_UP = CONVERGENCE_S["link up"]
CONTROLS = (
    _control(
        "ospf-link-down-at-once",
        false=truth(link_down=(MORE, 2, 2)),
        by="detected after 1.2 s",
        opposite=truth(link_down=(40, 2, 2)),
    ),
    _control(
        "ospf-link-up-takes-longer",
        false=truth(link_up=(UP_DOWN, UP + 0.2 * 64, ONE_UP)),
        by="77 s longer in place of 64",
        opposite=truth(link_up=(0, 2, 2), link_down=(41, 25, 9)),
    ),
    _control(
        "ospf-router-down-by-hellos",
        false=truth(router_down=(0.8 * 30, 17, 2)),
        by="24 s in place of 30 to 40",
        opposite=truth(router_down=(80, 17, 2)),
    ),
    _control(
        "ospf-detection-unchanged",
        false=Truth(one_later=MORE),
        by="one is later by 1.2 of how far the paper's means may be apart",
        opposite=Truth(one_later=4),
    ),
    _control(
        "ospf-several-take-longer",
        false=apart(LONGER, 0.5),
        by="half as much longer",
        opposite=apart(LONGER, -1.0),
    ),
    _control(
        "ospf-others-take-as-long",
        false=unlike(AS_LONG, MORE),
        by="1.2 of what the paper calls about the same",
        opposite=unlike(AS_LONG, 3),
    ),
    _size("ospf-link-down-size", "link down"),
    _size("ospf-link-up-size", "link up"),
    _size("ospf-router-down-size", "router down"),
    _size("ospf-router-up-size", "router up"),
    _size("ospf-restart-size", "router restart"),
)
