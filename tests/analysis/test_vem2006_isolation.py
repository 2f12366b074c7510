"""The claims of vem2006 on isolation follow what flows get: they flip when that flips."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from delaylab.analysis.claims.claim import Finding, judge
from delaylab.analysis.group import Group
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.links.verdict import judge as verdicts
from delaylab.dataset.records.links import EngineReport
from delaylab.dataset.records.rates import Flow, HeldRate
from delaylab.dataset.records.trial import Load
from delaylab.papers.studies import find
from delaylab.papers.vem2006 import isolation_figures as shown
from delaylab.papers.vem2006.isolation import FRAMING, HOG, RATE_BPS, SHAPED_MS
from delaylab.papers.vem2006.isolation_claims import CLAIMS
from delaylab.spec.combine import combinations
from delaylab.spec.load import load_study
from delaylab.spec.study import CHECK_SEQUENCE

UNSHAPED = [f"out-{number}" for number in range(1, 5)]
LINKS = [*UNSHAPED, HOG, *SHAPED_MS]
SECONDS, BLOCKS = 5.0, 3
SECOND = 10**9
Levels = dict[str, str]


@dataclass
class World:
    """What flows get: frames/s in all, and the shares that shaping and the hog take of others.

    `shaper`: the rate over the one asked; `queued`: seconds of it that arrive after the load.
    """

    per_s: float = 150_000.0
    shaping_takes: float = 0.0
    hog_takes: float = 0.0
    shaper: float = 1.0
    shaped_loses: float = 0.0
    queued: float = 0.2
    late_us: float = 8.0
    noise: float = 0.003
    seed: int = 1


def groups(world: World) -> list[Group]:
    study = load_study(find("vem2006-isolation"))
    random = np.random.default_rng(world.seed)
    return [group(world, each.levels, random) for each in combinations(study, "quick")]


def group(world: World, levels: Levels, random: np.random.Generator) -> Group:
    trials = [
        SimpleNamespace(
            id=f"t{block}", repeat=block, loads=[load(world, levels, random)], warnings=[]
        )
        for block in range(1, BLOCKS + 1)
    ]
    links = []
    if levels["shaping"] == "half":
        engine = EngineReport.model_validate(
            {
                "host": "here",
                "state": "running",
                "directions": [direction(link, world, levels) for link in SHAPED_MS],
            }
        )
        links = [TrialLink(trial.id, each, None) for trial in trials for each in verdicts([engine])]
    return cast(Group, SimpleNamespace(factors=levels, trials=trials, doubts=[], links=links))


def direction(link: str, world: World, levels: Levels) -> dict[str, Any]:
    late_ns = world.late_us * 1000
    size = int(levels["size"])
    per_s = min(world.per_s / len(LINKS), world.shaper * RATE_BPS / 8 / (size + FRAMING))
    frames = round(per_s * SECONDS)
    passed = {"frames": frames, "bytes": frames * (size - CHECK_SEQUENCE)}
    return {
        "link": link,
        "node": "r",
        "port": "vif-r",
        "nodes": ["r"],
        "asked": {"rate": {"bps": RATE_BPS}},
        "late": {"count": 1000, "p50_ns": late_ns, "p99_ns": 3 * late_ns},
        "in": passed,
        "out": passed,
        "first_out_ns": SECOND,
        "last_out_ns": SECOND + round(SECONDS * SECOND),
    }


def load(world: World, levels: Levels, random: np.random.Generator) -> Load:
    shaped = levels["shaping"] == "half"
    rate = world.per_s * random.normal(1, world.noise) * (1 - world.shaping_takes * shaped)
    each = round(rate * SECONDS / len(LINKS))
    arrives = round(each * (1 - world.hog_takes * (levels["load"] == "hog")))
    seconds = SECONDS + world.queued
    most = round(world.shaper * RATE_BPS * seconds / 8 / (int(levels["size"]) + FRAMING))
    most = min(most, round(each * (1 - world.shaped_loses)))
    flows = [
        Flow(link=link, sent=each, received=min(each, most) if shaped else each)
        if link in SHAPED_MS
        else Flow(link=link, sent=each, received=arrives)
        for link in LINKS
    ]
    found = HeldRate(
        frames_per_s=rate, tolerance=0.0005, bound="loss", judged=tuple(UNSHAPED), tries=()
    )
    sent = each * len(LINKS)
    achieved = {"sent": sent, "sent_per_s": sent / SECONDS, "asked_per_s": rate}
    return Load(load="frames", on="source", to="sink", achieved=achieved, flows=flows, rate=found)


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
        ("isolated-shaped-as-asked", World(shaper=1.05)),
        ("isolated-shaped-as-asked", World(shaper=0.9)),
        ("isolated-shaped-as-asked", World(late_us=400)),
        ("isolated-shaped-as-asked", World(shaped_loses=0.05)),
        ("isolated-unshaped-unmoved", World(shaping_takes=0.05)),
        ("isolated-from-hog", World(hog_takes=0.1)),
    ],
)
def test_a_claim_is_not_reproduced_where_it_does_not_hold(claim: str, world: World) -> None:
    found = finding(claim, world)
    assert found.verdict == "not reproduced", found.why


def test_where_trials_differ_by_more_than_is_looked_for_a_claim_is_open() -> None:
    worlds = [World(noise=0.1, seed=seed) for seed in range(40)]
    verdicts = [finding("isolated-unshaped-unmoved", world).verdict for world in worlds]
    assert verdicts.count("open") >= 30
    # Two settings, each with an interval of 95 %: one in twenty by chance.
    assert verdicts.count("not reproduced") <= 6


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_flows_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_the_effect_is_what_was_taken() -> None:
    found = finding("isolated-from-hog", World(hog_takes=0.1))
    assert found.effect == pytest.approx(-0.1, abs=0.002)


def test_every_flow_is_in_the_tables() -> None:
    tables = {table.title: table for table in shown.tables(groups(World(noise=0, queued=0)))}
    received = tables["Isolation: what flows receive"]
    assert len(received.rows) == 2 * (2 + len(SHAPED_MS))
    large = next(row for row in received.rows if row[1:3] == ["1450", "shaped, 5 ms"])
    assert large[3] == "15 000"
    # 100 Mbit/s of frames of 1450 bytes, framing counted.
    assert large[4] == f"{RATE_BPS / 8 / 1470:,.0f}".replace(",", " ")
    (shaped,) = (
        row
        for row in tables["Isolation: what shaped flows get"].rows
        if row[:2] == ["1450", "5 ms"]
    )
    assert shaped[3] in ("+0.00%", "-0.00%")
    assert [chart.name for chart in shown.charts(groups(World()))] == ["isolation"]
