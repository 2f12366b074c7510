"""Controls of vem2006's claims on nodes that share a CPU, section V A."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.vem2006.published import JOB_OWN_MS, SPREAD_MS, UPDATES_MS
from delaylab_papers.vem2006.sharing.claims import CLAIMS
from delaylab_papers.vem2006.sharing.world import Truth, drawn
from tests.controls.control import as_run, of_sentences

STUDY = "vem2006-sharing"
world = as_run(STUDY, drawn)

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


_control = of_sentences(CLAIMS, STUDY, drawn, PAPER)
CONTROLS = (
    _control(
        "sharing-spread-within",
        false=spreads(1.2),
        by="1.2 of the paper's bounds",
        opposite=spreads(2.0),
        scale="paper",
    ),
    _control(
        "sharing-more-nodes-wider",
        false=by_nodes(0.8),
        by="a fifth less with ten nodes than with five",
        opposite=by_nodes(0.5),
    ),
    _control(
        "sharing-load-wider",
        false=by_load(0.8),
        by="a fifth less under load",
        opposite=by_load(0.5),
    ),
    _control(
        "sharing-job-in-turn",
        false=replace(PAPER, job_ms=(0.8 * 32.0, 64.0)),
        by="the first is done after 26 of 64 ms",
        opposite=replace(PAPER, job_ms=(JOB_OWN_MS, JOB_OWN_MS)),
    ),
    _control(
        "sharing-updates-in-one-go",
        false=replace(PAPER, whole=0.8),
        by="a fifth of the trains are interrupted",
        opposite=replace(PAPER, whole=0.1),
    ),
    _control(
        "sharing-updates-within",
        false=replace(PAPER, updates_ms=1.2 * UPDATES_MS),
        by="5.4 ms in place of 4.5",
        opposite=replace(PAPER, updates_ms=2 * UPDATES_MS),
        scale="paper",
    ),
)
