"""Controls of vem2006's claims on the assignment of routers to machines, section III C."""

from __future__ import annotations

from delaylab_papers.vem2006.assignment.claims import CLAIMS
from delaylab_papers.vem2006.assignment.world import Truth, drawn
from tests.controls.control import as_run, of_sentences

STUDY = "vem2006-assignment"
PAPER = Truth()
world = as_run(STUDY, drawn)
_control = of_sentences(CLAIMS, STUDY, drawn, PAPER)
CONTROLS = (
    _control(
        "assignment-constraints-kept",
        false=Truth(ill=0.2),
        by="a constraint is violated in a fifth of the networks",
        opposite=Truth(ill=1.0),
    ),
    _control(
        "assignment-is-bin-packing",
        false=Truth(by_bandwidth=1.2),
        by="the least load is 1.2 of the fullest bin",
        opposite=Truth(by_number=2.0, by_bandwidth=2.0),
    ),
)
