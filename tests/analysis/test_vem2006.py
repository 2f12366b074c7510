"""The claims of vem2006 follow what links did: they flip when that flips."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from delaylab.analysis.claims.claim import Finding, judge
from delaylab.analysis.group import Group
from delaylab.analysis.links.delays import Error, Measured
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.links.verdict import judge as verdicts
from delaylab.dataset.records.links import EngineReport
from delaylab.papers.studies import find
from delaylab.papers.vem2006 import link_tables
from delaylab.papers.vem2006.link_claims import CLAIMS
from delaylab.spec.combine import combinations
from delaylab.spec.load import load_study

SECOND, FRAMES = 10**9, 300_000
BPS = {"1Mbit": 1e6, "10Mbit": 1e7, "100Mbit": 1e8, "1Gbit": 1e9, "2.5Gbit": 2.5e9}
Levels = dict[str, str]


@dataclass
class World:
    """What links do: error of delays in µs, the share of a rate by its levels, frames lost."""

    error_us: float = 10.0
    least_us: float = 2.0
    ratio: dict[tuple[str, str, str], float] = field(default_factory=dict)
    small_and_slow: float = 1.05
    lost: int = FRAMES // 100
    lost_beside: int = 0

    def of_rate(self, levels: Levels) -> float:
        if (levels["size"], levels["rate"]) == ("64", "1Mbit"):
            return self.small_and_slow
        return self.ratio.get((levels["size"], levels["delay"], levels["rate"]), 1.0)


def groups(world: World) -> list[Group]:
    study = load_study(find("vem2006"))
    return [group(world, each.levels) for each in combinations(study, "quick")]


def group(world: World, levels: Levels) -> Group:
    error = Error(world.error_us, 1.0, world.least_us, world.error_us, 30.0, 40.0, world.least_us)
    wan: dict[str, Any] = {"asked": {}, "dropped": {}}
    if levels["loss"] != "none":
        wan["asked"]["loss"] = {"model": "independent", "share": 0.01}
        wan["dropped"]["loss"] = world.lost
    if levels["rate"] != "none":
        bps = BPS[levels["rate"]]
        wan["asked"]["rate"] = {"bps": bps}
        wan["last_out_ns"] = SECOND + round(FRAMES * 1538 * 8e9 / bps / world.of_rate(levels))
    engine = {
        "host": "here",
        "state": "running",
        "directions": [
            direction("wan", "probe", **wan),
            direction("side", "other", asked={}, dropped={"loss": world.lost_beside}),
        ],
    }
    measured = Measured(1000, 0.0, 0.0, error)
    found = [
        TrialLink("t", each, measured) for each in verdicts([EngineReport.model_validate(engine)])
    ]
    return cast(Group, SimpleNamespace(factors=levels, trials=[], doubts=[], links=found))


def direction(link: str, node: str, **changes: Any) -> dict[str, Any]:
    frames = {"frames": FRAMES, "bytes": FRAMES * 1514}
    fixed = {"link": link, "node": node, "port": f"vif-{node}", "nodes": [node]}
    passed = {"in": frames, "out": frames, "first_out_ns": SECOND, "last_out_ns": 11 * SECOND}
    return {**fixed, **passed, **changes}


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
        ("delayed-at-least-as-asked", World(least_us=-3)),
        ("delay-true-at-rest", World(error_us=120)),
        ("delay-true-at-rest", World(error_us=-90)),
        ("delay-true-under-load", World(error_us=600)),
        ("rate-close-to-asked", World(ratio={("1450", "0", "1Gbit"): 0.85})),
        ("rate-less-true-for-slow-and-small", World(small_and_slow=1.0001)),
        ("delay-costs-no-rate", World(ratio={("1450", "100ms", "100Mbit"): 0.9})),
        ("loss-as-asked", World(lost=FRAMES * 13 // 1000)),
        ("loss-as-asked", World(lost_beside=1)),
    ],
)
def test_a_claim_is_not_reproduced_where_it_does_not_hold(claim: str, world: World) -> None:
    found = finding(claim, world)
    assert found.verdict == "not reproduced", found.why


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_links_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_the_papers_figures_are_filled() -> None:
    tables = {table.title.split(":")[0]: table for table in link_tables.tables(groups(World()))}
    assert list(tables) == ["Figure 16", "Figure 17", "Figure 18", "Figure 19"]
    assert [len(table.rows) for table in tables.values()] == [10, 10, 8, 12]
    assert ["1450", "10Mbit", ("10", "9.83"), "-0.00%"] in tables["Figure 18"].rows
