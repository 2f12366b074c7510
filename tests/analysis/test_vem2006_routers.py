"""The tables of vem2006 on virtual routers, its claims on a few searches, and Jain's index."""

from __future__ import annotations

import numpy as np
import pytest

from delaylab.analysis.claims.judge import judge
from delaylab.analysis.statistics.effects import estimate_of_few
from delaylab.dataset.records.rates import Flow
from delaylab.papers.vem2006.routers import charts as router_charts
from delaylab.papers.vem2006.routers import tables as shown
from delaylab.papers.vem2006.routers.searches import jain, lost_shares
from tests.controls.vem2006.routers import CLAIMS, PAPER, world

DRAWN = world(PAPER, summarised=True)(np.random.default_rng(1))


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_routers_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_a_throughput_found_twice_has_no_interval_and_no_verdict() -> None:
    few = [g for g in DRAWN if g.factors["load"] in ("rest", "50pct", "90pct")]
    found = judge(CLAIMS["first-router-costs-most"], few)
    assert found.verdict == "not testable here"
    assert "3 searches" in found.why


def test_jains_index_is_one_for_equals_and_a_share_for_one_that_has_all() -> None:
    assert jain([5, 5, 5, 5]) == pytest.approx(1)
    assert jain([20, 0, 0, 0]) == pytest.approx(1 / 4)


def test_the_interval_of_three_searches_is_students() -> None:
    found = estimate_of_few([np.array([90.0, 100.0, 130.0])], lambda s: np.median(s[0], axis=-1))
    assert found.value == 100
    half = 4.303 * np.std([90, 100, 130], ddof=1) / np.sqrt(3)
    assert found.interval == pytest.approx((100 - half, 100 + half), rel=1e-3)


def test_a_flow_never_loses_less_than_nothing() -> None:
    assert lost_shares([Flow(link="out-1", sent=10, received=11)]) == [0]


def test_the_papers_figures_are_filled() -> None:
    found = DRAWN
    tables = {table.title.split(":")[0]: table for table in shown.tables(found)}
    throughput = tables["Figures 8 and 11 to 13"]
    host = next(row for row in throughput.rows if row[1] == "host" and row[3] == "64")
    here, paper = tuple(host[5])
    assert float(here.removesuffix("/s").replace(" ", "")) == pytest.approx(380_000, rel=0.02)
    assert paper == "380 000/s"
    assert len(tables["Figures 11 and 12"].rows) == 6
    assert {(row[4], row[5]) for row in tables["Figures 9, 10, 14 and 15"].rows} >= {
        ("1st", "rest"),
        ("10th", "90pct"),
    }
    drawn = [chart.name for chart in router_charts.charts(found)]
    assert drawn == ["throughput-by-routers", "throughput-by-size", "latency-by-routers"]
