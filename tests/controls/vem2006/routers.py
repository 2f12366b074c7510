"""Controls of vem2006's claims on virtual routers: throughput and latency."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from delaylab_papers.vem2006.routers import claims as router_claims
from delaylab_papers.vem2006.routers import latency as latency_claims
from delaylab_papers.vem2006.routers.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from tests.controls.control import World, controls
from tests.controls.world import with_summaries

CLAIMS = {**router_claims.CLAIMS, **latency_claims.CLAIMS}
PACKETS, BLOCKS = 200, 3


def world(truth: Truth) -> World:
    """The trials of the study, as its quick design has them."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, design, random) for design in _designs()]

    return draw


def summarised_world(truth: Truth) -> World:
    """The same trials, with summaries of their RTTs, as tables and charts need them."""

    def draw(random: Random) -> list[Group]:
        return [with_summaries(drawn(truth, design, random)) for design in _designs()]

    return draw


@cache
def _designs() -> tuple[Design, ...]:
    study = load_study(find("vem2006-routers"))
    return tuple(
        Design(dict(each.levels), each.levels["kind"], packets=PACKETS, trials=BLOCKS)
        for each in combinations(study, "quick")
    )


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "first-router-costs-most",
        replace(PAPER, first={"64": 0.05, "1450": 0.05}, further=0.05),
        replace(PAPER, first={"64": 0.02, "1450": 0.02}, further=0.1),
        replace(PAPER, first={"64": 0.34, "1450": 0.08}),
        "reproduced",
    ),
    _control(
        "small-frames-cost-more",
        replace(PAPER, first={"64": 0.3, "1450": 0.3}),
        replace(PAPER, first={"64": 0.2, "1450": 0.4}),
        replace(PAPER, first={"64": 0.42, "1450": 0.15}),
        "reproduced",
    ),
    _control(
        "capacity-shared-equally",
        replace(PAPER, greedy=2.0),
        replace(PAPER, greedy=5.0),
        replace(PAPER, greedy=0.3),
        "contradicted",
    ),
    _control(
        "losses-shared-equally",
        replace(PAPER, spared=0.5),
        replace(PAPER, spared=0.6),
        replace(PAPER, spared=0.1),
        "contradicted",
    ),
    _control(
        "engine-costs-little",
        replace(PAPER, carried=0.7),
        replace(PAPER, carried=0.5),
        replace(PAPER, carried=0.95),
        "reproduced",
    ),
    _control(
        "delaying-costs-little",
        replace(PAPER, delayed=0.7),
        replace(PAPER, delayed=0.5),
        replace(PAPER, delayed=0.95),
        "reproduced",
    ),
    _control(
        "limits-cost-nothing",
        replace(PAPER, limited=0.9),
        replace(PAPER, limited=0.5),
        replace(PAPER, limited=0.97),
        "reproduced",
    ),
    _control(
        "ten-routers-60-percent",
        replace(PAPER, ten=1.0),
        replace(PAPER, ten=0.1),
        replace(PAPER, ten=0.8),
        "contradicted",
    ),
    _control(
        "overload-lowers-throughput",
        replace(PAPER, overload=1.0),
        replace(PAPER, overload=1.3),
        replace(PAPER, overload=0.8),
        "reproduced",
    ),
    _control(
        "latency-flat-at-rest",
        replace(PAPER, rest_us=5.0),
        replace(PAPER, rest_us=20.0),
        replace(PAPER, rest_us=1.4),
        "open",
    ),
    _control(
        "large-latency-flat-under-load",
        replace(PAPER, large_further_us=15.0),
        replace(PAPER, large_further_us=40.0),
        replace(PAPER, large_further_us=4.0),
        "reproduced",
    ),
    _control(
        "latency-same-over-each",
        replace(PAPER, last_us=25.0),
        replace(PAPER, last_us=-30.0),
        replace(PAPER, last_us=4.0),
        "reproduced",
    ),
    _control(
        "first-router-adds-latency",
        replace(PAPER, first_us=10.0, further_us=10.0),
        replace(PAPER, first_us=5.0, further_us=20.0),
        replace(PAPER, first_us=100.0),
        "reproduced",
    ),
    _control(
        "delayed-over-routers",
        replace(PAPER, asked_us=900.0),
        replace(PAPER, asked_us=500.0),
        replace(PAPER, asked_us=950.0),
        "contradicted",
    ),
)
