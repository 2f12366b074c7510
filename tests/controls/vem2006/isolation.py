"""Controls of vem2006's claims on isolation, end of section IV C."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.isolation.claims import CLAIMS
from delaylab_papers.vem2006.isolation.world import Truth, drawn
from tests.controls.control import controls, of_study

BLOCKS = 3

world = of_study("vem2006-isolation", drawn, BLOCKS)

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
