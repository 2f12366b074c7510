"""Controls of vem2006's claims on nodes that share a CPU, section V A."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.published import JOB_OWN_MS, SPREAD_MS
from delaylab_papers.vem2006.sharing.claims import CLAIMS
from delaylab_papers.vem2006.sharing.world import Truth, drawn
from tests.controls.control import controls, of_study

REPEATS = 5

world = of_study("vem2006-sharing", drawn, REPEATS, "netns")

PAPER = Truth()


def spreads(factor: float) -> Truth:
    """Return the truth in which all spreads are this many times the paper's bounds."""
    return replace(PAPER, spread_ms={key: factor * ms for key, ms in SPREAD_MS.items()})


def by_nodes(ratio: float) -> Truth:
    """Return the truth in which ten nodes get a broadcast `ratio` times as far apart as five."""
    return replace(
        PAPER,
        spread_ms={
            (n, load): ms for load in (False, True) for n, ms in ((5, 0.5), (10, 0.5 * ratio))
        },
    )


def by_load(ratio: float) -> Truth:
    """Return the truth in which load makes the spread `ratio` times as wide."""
    return replace(
        PAPER,
        spread_ms={
            (n, load): ms * (ratio if load else 1)
            for n, ms in ((5, 0.5), (10, 1.5))
            for load in (False, True)
        },
    )


_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control("sharing-spread-within", spreads(1.2), spreads(2.0), spreads(0.5), "reproduced"),
    _control("sharing-more-nodes-wider", by_nodes(1.0), by_nodes(0.5), by_nodes(1.6), "reproduced"),
    _control("sharing-load-wider", by_load(1.0), by_load(0.5), by_load(1.2), "reproduced"),
    _control(
        "sharing-job-in-turn",
        # One after the other; each on a CPU of its own; the first one too early by half.
        replace(PAPER, job_ms=(JOB_OWN_MS, 64.0)),
        replace(PAPER, job_ms=(JOB_OWN_MS, JOB_OWN_MS)),
        replace(PAPER, job_ms=(26.0, 64.0)),
        "contradicted",
    ),
    _control(
        "sharing-updates-in-one-go",
        replace(PAPER, whole=0.6),
        replace(PAPER, whole=0.1, updates_ms=9.0),
        replace(PAPER, updates_ms=2.25),
        "reproduced",
    ),
)
