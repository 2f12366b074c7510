"""The tables of vem2006 on virtual routers, its claims on a few searches, and Jain's index."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from delaylab_papers.vem2006.routers import charts as router_charts
from delaylab_papers.vem2006.routers import tables as shown
from delaylab_papers.vem2006.routers.searches import (
    MOST_LOST,
    SEARCHES,
    furthest,
    lost_frames,
    lost_shares,
    searches,
    typical,
)
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.statistics.effects import estimate_of_few
from delaylab_study.dataset.records.rates import Flow
from tests.controls.vem2006.routers import CLAIMS, PAPER, summarised_world, world

DRAWN = summarised_world(PAPER)(np.random.default_rng(1))


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_routers_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_a_throughput_found_twice_has_no_interval_and_no_verdict() -> None:
    few = [replace(group, trials=group.trials[:2]) for group in DRAWN]
    found = judge(CLAIMS["first-router-costs-most"], few)
    assert found.verdict == "not testable here"
    assert "3 searches" in found.why


def test_a_search_that_trials_of_a_block_share_counts_once() -> None:
    one = next(g for g in DRAWN if g.factors["load"] == "100pct" and g.factors["kind"] == "qemu")
    (found,) = searches([one, one]).values()
    assert len(found) == len(one.trials) == 3


def test_the_best_three_of_five_searches_count() -> None:
    assert typical(np.array([90.0, 100.0, 95.0, 50.0, 60.0])) == 95
    assert typical(np.array([90.0, 50.0, 60.0])) == 60


def test_what_the_first_router_costs_is_decided_by_virtual_machines_on_hardware() -> None:
    found = judge(CLAIMS["first-router-costs-most"], DRAWN)
    deciding = {each.name for each in found.criteria[0].scenarios if not each.aside}
    assert deciding == {"qemu, 64 bytes", "xen, 64 bytes"}
    assert any(each.aside and "uml" in each.name for each in found.criteria[0].scenarios)
    assert any(each.aside and "netns" in each.name for each in found.criteria[0].scenarios)


def test_how_routers_share_is_decided_by_kernels_of_their_own() -> None:
    """Namespaces have no scheduler: one that gets more than its share says nothing of others."""
    greedy = world(replace(PAPER, greedy=0.6))(np.random.default_rng(1))
    for claim in ("capacity-shared-equally", "losses-shared-equally"):
        found = judge(CLAIMS[claim], DRAWN)
        assert found.verdict == "reproduced"
        asides = {each.name: each.aside for each in found.criteria[0].scenarios}
        assert {aside for name, aside in asides.items() if "netns" in name} == {True}
        assert {aside for name, aside in asides.items() if "uml" in name} == {False}
        mixed = [g for g in DRAWN if g.factors["kind"] != "netns"]
        mixed += [g for g in greedy if g.factors["kind"] == "netns"]
        assert judge(CLAIMS[claim], mixed).verdict == "reproduced"
        assert judge(CLAIMS[claim], greedy).verdict == "contradicted"


def test_bursts_that_lost_nearly_nothing_or_nearly_all_do_not_tell_how_losses_are_shared() -> None:
    """At a loss of 2 % no share is far off; where 90 % is lost, all lose alike."""
    one = next(g for g in DRAWN if g.factors["kind"] == "uml" and g.factors["routers"] == "10")
    (rate, *_) = searches([one]).popitem()[1]
    burst = next(each for each in rate.tries if not each.held)
    for lost, counts in ((0.02, False), (0.4, True), (0.9, False)):
        alike = burst.model_copy(update={"lost": lost})
        rates = [rate.model_copy(update={"tries": (alike,)})] * SEARCHES
        assert (furthest(rates, lost_frames, MOST_LOST) is not None) is counts


def test_latencies_that_differ_from_block_to_block_leave_a_claim_open() -> None:
    """The packets of each block would decide at once: their medians are known to 0.2 %."""
    apart = replace(PAPER, apart_us=15.0)
    verdicts = [
        judge(CLAIMS["latency-flat-at-rest"], world(apart)(np.random.default_rng(seed))).verdict
        for seed in range(5)
    ]
    assert verdicts.count("reproduced") <= 1


def test_an_overload_that_the_generator_did_not_send_says_nothing() -> None:
    groups = []
    for group in DRAWN:
        trials = [
            trial.model_copy(
                update={
                    "loads": [
                        load.model_copy(update={"achieved": {**load.achieved, "sent_per_s": 0.99}})
                        for load in trial.loads
                    ]
                }
            )
            for trial in group.trials
        ]
        groups.append(replace(group, trials=trials))
    assert judge(CLAIMS["overload-lowers-throughput"], groups).verdict == "not testable here"


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
    # Namespaces: 1 and 10 with 64 bytes and 10 with 1450, by two steps; 10 by a third.
    assert len(tables["Figures 11 and 12"].rows) == 8
    assert {(row[4], row[5]) for row in tables["Figures 9, 10, 14 and 15"].rows} >= {
        ("1st", "rest"),
        ("10th", "100pct"),
    }
    drawn = [chart.name for chart in router_charts.charts(found)]
    assert drawn == ["throughput-by-routers", "throughput-by-size", "latency-by-routers"]
