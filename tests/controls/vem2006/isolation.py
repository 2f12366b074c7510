"""Controls of vem2006's claims on isolation, end of section IV C."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.isolation.claims import CLAIMS
from delaylab_papers.vem2006.isolation.world import Truth, drawn
from tests.controls.control import as_run, of_sentences

STUDY = "vem2006-isolation"
PAPER = Truth()
world = as_run(STUDY, drawn)
_control = of_sentences(CLAIMS, STUDY, drawn, PAPER)
CONTROLS = (
    _control(
        "isolated-shaped-as-asked",
        replace(PAPER, shaper=1.04),
        "limits let 4 % more through than they are set to, where at most 3 % is correct",
        replace(PAPER, shaper=0.5),
    ),
    _control(
        "isolated-unshaped-unmoved",
        replace(PAPER, shaping_takes=0.025),
        "shaping others takes 2.5 %, where up to 2 % is the same rate",
        replace(PAPER, shaping_takes=0.5),
    ),
    _control(
        "isolated-from-hog",
        replace(PAPER, hog_takes=0.025),
        "the hog takes 2.5 %, where up to 2 % is no effect",
        replace(PAPER, hog_takes=0.5),
    ),
)
