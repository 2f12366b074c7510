"""The claims of vem2006 on isolation where trials vary, and its tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from delaylab_papers.vem2006.isolation import figures as shown
from delaylab_papers.vem2006.isolation.claims import CLAIMS
from delaylab_papers.vem2006.isolation.measures import RATES_BPS, SHAPED_MS, TENTH
from delaylab_papers.vem2006.isolation.world import Truth
from delaylab_papers.vem2006.isolation.world import drawn as drawn_by
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.group import Group
from tests.controls.control import designs_as_run
from tests.controls.vem2006.isolation import PAPER, STUDY, world


def finding(claim: str, truth: Truth, seed: int = 1) -> Finding:
    return judge(CLAIMS[claim], drawn(truth, seed))


def drawn(truth: Truth, seed: int = 1) -> list[Group]:
    return world(truth)(np.random.default_rng(seed))


def test_where_trials_differ_by_more_than_is_looked_for_a_claim_is_open() -> None:
    noisy = replace(PAPER, noise=0.1)
    verdicts = [finding("isolated-unshaped-unmoved", noisy, seed).verdict for seed in range(40)]
    assert verdicts.count("open") >= 30
    # Two settings, each with an interval of 95 %: one in twenty by chance.
    assert verdicts.count("contradicted") <= 6


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_flows_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_the_effect_is_what_was_taken() -> None:
    found = finding("isolated-from-hog", replace(PAPER, hog_takes=0.1))
    assert found.effect == pytest.approx(-0.1, abs=0.002)


def test_every_flow_is_in_the_tables() -> None:
    tables = {
        table.title: table
        for table in shown.tables(
            world(replace(PAPER, noise=0, queued=0))(np.random.default_rng(1))
        )
    }
    received = tables["Isolation: what flows receive"]
    settings = 2  # User-Mode Linux with both sizes
    assert len(received.rows) == settings * (2 + len(SHAPED_MS))
    large = next(row for row in received.rows if row[:3] == ["uml", "1450", "shaped, 5 ms"])
    assert large[3] == "12 000"
    # 10 Mbit/s of frames of 1450 bytes, framing counted.
    assert large[4] == f"{RATES_BPS[TENTH] / 8 / 1470:,.0f}".replace(",", " ")
    (shaped,) = (
        row
        for row in tables["Isolation: what shaped flows get"].rows
        if row[:3] == ["uml", "1450", "5 ms"]
    )
    assert abs(float(str(shaped[4]).rstrip("%"))) <= 0.01  # whole frames
    assert [chart.name for chart in shown.charts(drawn(PAPER))] == ["isolation"]


def test_lateness_that_differs_from_block_to_block_leaves_the_claim_open() -> None:
    """Each block alone is within the limit; three of them do not tell of the next."""
    groups = drawn(PAPER)
    one = next(g for g in groups if g.factors["shaping"] == TENTH)
    for place, late_ns in enumerate((1_000, 5_000, 90_000)):
        for index, link in enumerate(one.directions):
            if link.trial == one.trials[place].id:
                own = link.verdict.late.own.model_copy(update={"p50_ns": late_ns})
                late = replace(link.verdict.late, own=own)
                verdict = replace(link.verdict, late=late)
                one.directions[index] = replace(link, verdict=verdict)
    assert judge(CLAIMS["isolated-shaped-as-asked"], [one]).verdict == "open"


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_emulated_machines_decide_and_namespaces_do_not(claim: str) -> None:
    """Namespaces have no scheduler of their own, whatever flows get over them."""
    random = np.random.default_rng(1)
    designs = [replace(each, emulated=True) for each in designs_as_run(STUDY, "paper")]
    own = [drawn_by(PAPER, each, random) for each in designs if each.levels["kind"] == "uml"]
    worse = replace(PAPER, shaping_takes=0.5, hog_takes=0.5, shaper=0.5, late_us=4000.0)
    shared = [drawn_by(worse, each, random) for each in designs if each.levels["kind"] == "netns"]
    found = judge(CLAIMS[claim], [*own, *shared])
    assert found.verdict == "reproduced"
    asides = {each.name: each.aside for made in found.criteria for each in made.scenarios}
    assert {aside for name, aside in asides.items() if "uml" in name} == {False}
    assert {aside for name, aside in asides.items() if "netns" in name} == {True}
    alone = judge(CLAIMS[claim], shared)
    assert alone.verdict == "not testable here"
    assert "a scheduler that gives CPUs to whole systems; here are netns" in alone.why
