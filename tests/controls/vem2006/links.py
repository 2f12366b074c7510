"""Controls of vem2006's claims on links, drawn from its figures 16 to 19."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from delaylab.analysis.group import Group
from delaylab.analysis.links.delays import Error, Measured
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.links.verdict import judge as verdicts
from delaylab.dataset.records.links import EngineReport
from delaylab.papers.studies import find
from delaylab.papers.vem2006.links.claims import CLAIMS
from delaylab.papers.vem2006.published import (
    AT_REST,
    DELAY_MS,
    RATES,
    RATES_UNDER_DELAY,
    UNDER_LOAD,
)
from delaylab.spec.combine import combinations
from delaylab.spec.load import load_study
from tests.controls.control import World, controls
from tests.controls.world import Random, group

SECOND, FRAMES, PACKETS = 10**9, 300_000, 1000
BPS = {"1Mbit": 1e6, "10Mbit": 1e7, "100Mbit": 1e8, "1Gbit": 1e9, "2.5Gbit": 2.5e9}
Levels = dict[str, str]


@dataclass(frozen=True)
class Truth:
    """Truth of a world; as it stands, what the paper says.

    `error`: factor of the mean error of delays. `early`: share of a delay by which packets are
    early. `rate`: exponent of the paper's ratio of achieved and configured rate. `small_and_slow`:
    the same for 64 bytes at 1 Mbit/s. `by_delay`: share of a rate that a delay takes. `lost`: share
    of frames lost where 1 % is configured. `beside`: share of the other stream's frames that find
    a queue full. `bucket`: whether the shaper has a byte budget, as the paper's.
    """

    error: float = 1.0
    early: float = 0.0
    rate: float = 1.0
    small_and_slow: float = 1.0
    by_delay: float = 0.0
    lost: float = 0.01
    beside: float = 0.0
    bucket: bool = True


def world(truth: Truth) -> World:
    """The trials of the study, as its quick design has them."""

    def draw(random: Random) -> list[Group]:
        return [_group(truth, levels, random) for levels in _design()]

    return draw


@cache
def _design() -> tuple[Levels, ...]:
    study = load_study(find("vem2006"))
    return tuple(dict(each.levels) for each in combinations(study, "quick"))


def _group(truth: Truth, levels: Levels, random: Random) -> Group:
    wan: dict[str, Any] = {"asked": {}, "dropped": {}}
    if levels["loss"] != "none":
        wan["asked"]["loss"] = {"model": "independent", "share": 0.01}
        wan["dropped"]["loss"] = int(random.binomial(FRAMES, truth.lost))
    if levels["rate"] != "none":
        bps = BPS[levels["rate"]]
        wan["asked"]["rate"] = {"bps": bps}
        wan["last_out_ns"] = SECOND + round(FRAMES * 1538 * 8e9 / bps / _ratio(truth, levels))
    beside = {"queue": round(truth.beside * FRAMES)}
    report = EngineReport.model_validate(
        {
            "host": "here",
            "state": "running",
            "engine": "bucket" if truth.bucket else "own",
            "directions": [
                _direction("wan", "probe", **wan),
                _direction("side", "other", asked={}, dropped=beside),
            ],
        }
    )
    measured = Measured(PACKETS, 0.0, 0.0, _error(truth, levels, random))
    links = [TrialLink("t", each, measured) for each in verdicts([report])]
    return group(levels, links=links, reports=[report])


def _error(truth: Truth, levels: Levels, random: Random) -> Error:
    """The error of the delays in µs, drawn from figure 16 or 17."""
    paper = AT_REST if levels["load"] == "none" else UNDER_LOAD
    configured_us = 1000 * DELAY_MS[levels["delay"]]
    least, mean, deviation = (1000 * ms for ms in paper[levels["size"]][levels["delay"]])
    early_us = truth.early * configured_us
    spread = deviation / np.sqrt(PACKETS)
    error_us = truth.error * (mean - configured_us) + random.normal(0, spread) - early_us
    least_us = least - configured_us - early_us
    return Error(error_us, deviation, least_us, error_us, error_us, error_us, least_us)


def _ratio(truth: Truth, levels: Levels) -> float:
    """Achieved over configured rate, drawn from figures 18 and 19."""
    size, rate, delay = levels["size"], levels["rate"], levels["delay"]
    paper = RATES[size] if delay == "0" or size == "64" else RATES_UNDER_DELAY[delay]
    ratio = paper.get(rate, BPS[rate] / 1e6) * 1e6 / BPS[rate]
    exponent = truth.small_and_slow if (size, rate) == ("64", "1Mbit") else truth.rate
    return float(ratio**exponent) * (1 - (truth.by_delay if delay != "0" else 0.0))


def _direction(link: str, node: str, **changes: Any) -> dict[str, Any]:
    frames = {"frames": FRAMES, "bytes": FRAMES * 1514}
    fixed = {"link": link, "node": node, "port": f"vif-{node}", "nodes": [node]}
    passed = {"in": frames, "out": frames, "first_out_ns": SECOND, "last_out_ns": 11 * SECOND}
    return {**fixed, **passed, **changes}


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "delayed-at-least-as-asked",
        replace(PAPER, early=0.05),
        replace(PAPER, early=0.5),
        replace(PAPER, early=0.01),
        "contradicted",
    ),
    _control(
        "delay-true-at-rest",
        replace(PAPER, error=2.0),
        replace(PAPER, error=10.0),
        replace(PAPER, error=1.5),
        "contradicted",
    ),
    _control(
        "delay-true-under-load",
        replace(PAPER, error=2.0),
        replace(PAPER, error=10.0),
        replace(PAPER, error=1.5),
        "contradicted",
    ),
    _control(
        "rate-close-to-asked",
        replace(PAPER, rate=3.0),
        replace(PAPER, rate=4.0),
        replace(PAPER, rate=1.5),
        "contradicted",
    ),
    _control(
        "rate-less-true-for-slow-and-small",
        replace(PAPER, small_and_slow=0.0, rate=0.0),
        replace(PAPER, small_and_slow=0.0),
        replace(PAPER, small_and_slow=0.5),
        "reproduced",
    ),
    _control(
        "delay-costs-no-rate",
        replace(PAPER, by_delay=0.1),
        replace(PAPER, by_delay=0.5),
        replace(PAPER, by_delay=0.005),
        "reproduced",
    ),
    _control(
        "loss-as-asked",
        replace(PAPER, beside=0.02),
        replace(PAPER, beside=0.7),
        replace(PAPER, lost=0.015),
        "contradicted",
    ),
)
