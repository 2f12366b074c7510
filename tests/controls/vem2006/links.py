"""Controls of vem2006's claims on links, drawn from its figures 16 to 19."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.links.claims import CLAIMS
from delaylab_papers.vem2006.links.world import Truth, drawn
from tests.controls.control import as_run, of_sentences

STUDY = "vem2006"
PAPER = Truth()
world = as_run(STUDY, drawn)
_control = of_sentences(CLAIMS, STUDY, drawn, PAPER)
CONTROLS = (
    _control(
        "delayed-at-least-as-asked",
        replace(PAPER, early=0.012),
        "packets leave 1.2 % of their delay before their time, 12 µs of 1 ms",
        replace(PAPER, early=0.5),
    ),
    _control(
        "delay-true-under-load",
        replace(PAPER, error=1.45),
        "delays add 45 % more error than in figure 16, whose numbers leave 18 % for 0.1 ms",
        replace(PAPER, error=10.0),
    ),
    _control(
        "rate-close-to-asked",
        replace(PAPER, rate=1.4),
        "rates are 40 % further off: 4.2 % at 100 Mbit/s, where 3.5 % is as in figure 19",
        replace(PAPER, rate=4.0),
    ),
    _control(
        "rate-less-true-for-slow-and-small",
        replace(PAPER, small_and_slow=0.14),
        "64 bytes at 1 Mbit/s are off by 6 %, as at 10 Mbit/s and less than 1450 bytes",
        replace(PAPER, small_and_slow=0.0),
    ),
    _control(
        "delay-costs-no-rate",
        replace(PAPER, by_delay=0.025),
        "delays take 2.5 % of a rate, where up to 2 % is no noticeable drop",
        replace(PAPER, by_delay=0.5),
    ),
    _control(
        "loss-as-asked",
        replace(PAPER, lost=0.012),
        "1.2 % is lost where 1 % is configured",
        replace(PAPER, beside=0.7),
    ),
)
