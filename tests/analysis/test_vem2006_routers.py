"""The claims of vem2006 on virtual routers follow what these do: they flip when that flips."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from delaylab.analysis.claims.claim import Finding, judge
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import estimate_of_few
from delaylab.analysis.statistics.quantiles import summarise
from delaylab.dataset.records.rates import Burst, Flow, HeldRate
from delaylab.dataset.records.trial import Load
from delaylab.papers.studies import find
from delaylab.papers.vem2006 import latency_claims, router_charts, router_claims
from delaylab.papers.vem2006 import router_tables as shown
from delaylab.papers.vem2006.forwarding import jain, lost_shares
from delaylab.spec.combine import combinations
from delaylab.spec.load import load_study

CLAIMS = {**router_claims.CLAIMS, **latency_claims.CLAIMS}
HOST_PER_S = 300_000.0
BURST_S = 0.5
TOLERANCE = 0.0005
PACKETS = 200
Levels = dict[str, str]


@dataclass
class World:
    """What routers do: shares of the throughput that they take, latencies in µs.

    `first`: what the first takes of small and of large frames, `further`: each one more. `greedy`:
    how much more than its share the first router gets, held and when overloaded. `last_us`:
    what the last of many adds over the first.
    """

    first: dict[str, float] = field(default_factory=lambda: {"64": 0.4, "1450": 0.2})
    further: float = 0.02
    greedy: float = 0.0
    greedy_overloaded: float = 0.05
    carried: float = 0.95
    delayed: float = 0.95
    first_us: float = 200.0
    further_us: float = 5.0
    rest_us: float = 1.0
    last_us: float = 1.0
    asked_us: float = 1000.0

    def throughput(self, levels: Levels) -> float:
        routers = int(levels["routers"])
        if routers == 0:
            return HOST_PER_S
        first = self.first.get(levels["size"], 0.3)
        engine = {"plain": 1.0, "carried": self.carried, "500us": self.carried * self.delayed}
        alone = HOST_PER_S * (1 - first) * engine[levels["engine"]]
        return float(alone * (1 - self.further) ** (routers - 1))

    def rtt_us(self, levels: Levels) -> float:
        routers = int(levels["routers"])
        later = self.last_us if levels["over"] == "10th" else 0
        if levels["load"] == "rest":
            return 50 + self.rest_us * routers + later
        return 50 if routers == 0 else 50 + self.first_us + self.further_us * (routers - 1) + later


def groups(world: World) -> list[Group]:
    study = load_study(find("vem2006-routers"))
    random = np.random.default_rng(1)
    return [group(world, each.levels, random) for each in combinations(study, "quick")]


def group(world: World, levels: Levels, random: np.random.Generator) -> Group:
    loads = [] if levels["load"] == "rest" else [load(world, levels, random)]
    asked_us = world.asked_us if levels["engine"] == "500us" else 0.0
    rtt_us = asked_us + world.rtt_us(levels) * random.normal(1, 0.02, PACKETS)
    found = SimpleNamespace(
        factors=levels,
        trials=[SimpleNamespace(id="t", repeat=1, loads=loads, warnings=[])],
        samples=pl.DataFrame({"stack": (rtt_us * 1000).astype(np.int64)}),
        rtt={"stack": summarise(rtt_us * 1000)},
        segments=[],
        doubts=[],
    )
    return cast(Group, found)


def load(world: World, levels: Levels, random: np.random.Generator) -> Load:
    rate = world.throughput(levels) * random.normal(1, 0.005)
    routers = max(1, int(levels["routers"]))
    tries = (
        burst(rate * 1.5, rate, routers, world.greedy_overloaded, held=False),
        burst(rate, rate, routers, world.greedy, held=True),
    )
    links = tuple(flow.link for flow in tries[0].flows)
    held = HeldRate(frames_per_s=rate, tolerance=TOLERANCE, bound="loss", judged=links, tries=tries)
    return Load(load="frames", on="source", to="sink", rate=held)


def burst(offered: float, forwarded: float, routers: int, greedy: float, *, held: bool) -> Burst:
    sent = round(offered * BURST_S / routers)
    shares = np.ones(routers)
    shares[0] += greedy if routers > 1 else 0
    received = np.minimum(sent, shares / shares.sum() * forwarded * BURST_S).astype(int)
    flows = [
        Flow(link=f"out-{number}", sent=sent, received=int(count))
        for number, count in enumerate(received, start=1)
    ]
    lost = 1 - int(received.sum()) / (sent * routers)
    asked = offered if held else None
    return Burst(
        asked_per_s=asked,
        seconds=BURST_S,
        sent_per_s=offered,
        lost=lost,
        paced=True,
        held=held,
        flows=tuple(flows),
    )


def finding(claim: str, world: World) -> Finding:
    return judge(CLAIMS[claim], groups(world))


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_a_claim_is_reproduced_where_it_holds(claim: str) -> None:
    found = finding(claim, World())
    assert found.verdict == "reproduced", found.why
    assert found.interval is not None


@pytest.mark.parametrize(
    ("claim", "world"),
    [
        ("first-router-costs-most", World(first={"64": 0.02, "1450": 0.02}, further=0.1)),
        ("first-router-costs-most", World(first={"64": 0.4, "1450": 0.01}, further=0.1)),
        ("small-frames-cost-more", World(first={"64": 0.29, "1450": 0.3})),
        ("small-frames-cost-more", World(first={"64": 0.2, "1450": 0.4})),
        ("capacity-shared-equally", World(greedy=1.0)),
        ("losses-shared-equally", World(greedy_overloaded=2.0)),
        ("latency-flat-at-rest", World(rest_us=5.0)),
        ("latency-same-over-each", World(last_us=10.0)),
        ("latency-same-over-each", World(last_us=-20.0)),
        ("first-router-adds-latency", World(first_us=5.0, further_us=20.0)),
        ("engine-costs-little", World(carried=0.7)),
        ("delaying-costs-little", World(delayed=0.7)),
        ("delayed-over-routers", World(asked_us=900.0)),
    ],
)
def test_a_claim_is_not_reproduced_where_it_does_not_hold(claim: str, world: World) -> None:
    found = finding(claim, world)
    assert found.verdict == "not reproduced", found.why


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_routers_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_a_throughput_found_twice_has_no_interval_and_no_verdict() -> None:
    few = [g for g in groups(World()) if g.factors["load"] in ("rest", "50pct", "90pct")]
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
    found = groups(World())
    tables = {table.title.split(":")[0]: table for table in shown.tables(found)}
    throughput = tables["Figures 8 and 11 to 13"]
    host = next(row for row in throughput.rows if row[1] == "host" and row[3] == "64")
    here, paper = tuple(host[5])
    assert float(here.removesuffix("/s").replace(" ", "")) == pytest.approx(HOST_PER_S, rel=0.02)
    assert paper == "380 000/s"
    assert len(tables["Figures 11 and 12"].rows) == 6
    assert {(row[4], row[5]) for row in tables["Figures 9, 10, 14 and 15"].rows} >= {
        ("1st", "rest"),
        ("10th", "90pct"),
    }
    drawn = [chart.name for chart in router_charts.charts(found)]
    assert drawn == ["throughput-by-routers", "throughput-by-size", "latency-by-routers"]
