"""Controls of vem2006's claim on the clocks of machines, section V A."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.clocks.claims import CLAIMS
from delaylab_papers.vem2006.clocks.world import Truth, drawn
from delaylab_papers.vem2006.published import CLOCKS_US
from tests.controls.control import as_run, of_sentences

STUDY = "vem2006-clocks"
PAPER = Truth()
world = as_run(STUDY, drawn)
_control = of_sentences(CLAIMS, STUDY, drawn, PAPER)
CONTROLS = (
    _control(
        "clocks-within-300us",
        false=replace(PAPER, clocks_us=1.2 * CLOCKS_US),
        by="360 µs in place of 300",
        opposite=replace(PAPER, clocks_us=20 * CLOCKS_US),
    ),
)
