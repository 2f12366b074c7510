"""Controls of vem2006's claim on the clocks of machines, section V A."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.clocks.claims import CLAIMS
from delaylab_papers.vem2006.clocks.world import Truth, drawn
from delaylab_papers.vem2006.published import CLOCKS_US
from tests.controls.control import controls, of_study

REPEATS = 3

world = of_study("vem2006-clocks", drawn, REPEATS, "qemu")

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
