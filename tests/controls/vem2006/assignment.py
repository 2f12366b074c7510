"""Controls of vem2006's claims on the assignment of routers to machines, section III C."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.assignment.claims import CLAIMS
from delaylab_papers.vem2006.assignment.world import Truth, drawn
from tests.controls.control import controls, of_study

world = of_study("vem2006-assignment", drawn, 1, "netns")


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
