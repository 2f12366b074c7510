"""Controls of vem2006's claims on virtual routers: throughput and latency."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from delaylab.analysis.group import Group
from delaylab.dataset.records.rates import Burst, Flow, HeldRate
from delaylab.dataset.records.trial import Load
from delaylab.papers.studies import find
from delaylab.papers.vem2006.published import FORWARDED
from delaylab.papers.vem2006.routers import claims as router_claims
from delaylab.papers.vem2006.routers import latency as latency_claims
from delaylab.spec.combine import combinations
from delaylab.spec.load import load_study
from tests.controls.control import World, controls
from tests.controls.world import Random, group, record

CLAIMS = {**router_claims.CLAIMS, **latency_claims.CLAIMS}
HOST_PER_S = {"64": FORWARDED[64], "1450": FORWARDED[1450]}
BURST_S = 0.5
TOLERANCE = 0.0005
PACKETS, BLOCKS = 200, 3
Levels = dict[str, str]


@dataclass(frozen=True)
class Truth:
    """Truth of a world: shares of the throughput that they take, latencies in µs.

    `first`: what the first takes of small and of large frames, `further`: each one more. `greedy`:
    how much more than its share the first router gets when overloaded. `spared`: share of the
    routers that then lose nothing. `last_us`: what the last of many adds over the first. `limited`:
    share of the throughput that limits leave. `ten`: share of plain Linux that ten routers with
    emulation forward of large frames. `overload`: share of its throughput that a router forwards
    when more is offered. `apart_us`: deviation of a latency from block to block.
    """

    first: dict[str, float] = field(default_factory=lambda: {"64": 0.68, "1450": 0.15})
    further: float = 0.02
    greedy: float = 0.05
    spared: float = 0.0
    carried: float = 0.95
    delayed: float = 0.95
    limited: float = 1.0
    ten: float = 0.6
    overload: float = 0.6
    first_us: float = 200.0
    further_us: float = 5.0
    large_further_us: float = 1.0
    rest_us: float = 1.0
    last_us: float = 1.0
    asked_us: float = 1000.0
    apart_us: float = 0.2

    def host(self, levels: Levels) -> float:
        """Frames/s that plain Linux forwards."""
        return HOST_PER_S.get(levels["size"], HOST_PER_S["64"])

    def throughput(self, levels: Levels) -> float:
        routers = int(levels["routers"])
        if routers == 0:
            return self.host(levels)
        if (levels["routers"], levels["size"], levels["engine"]) == ("10", "1450", "500us"):
            return self.host(levels) * self.ten
        first = self.first.get(levels["size"], 0.3)
        engine = {
            "plain": 1.0,
            "carried": self.carried,
            "500us": self.carried * self.delayed,
            "limited": self.carried * self.limited,
        }
        alone = self.host(levels) * (1 - first) * engine[levels["engine"]]
        return float(alone * (1 - self.further) ** (routers - 1))

    def rtt_us(self, levels: Levels) -> float:
        routers = int(levels["routers"])
        later = self.last_us if levels["over"] == "10th" else 0
        if levels["load"] == "rest":
            return 50 + self.rest_us * routers + later
        further_us = self.large_further_us if levels["size"] == "1450" else self.further_us
        return 50 if routers == 0 else 50 + self.first_us + further_us * (routers - 1) + later


def world(truth: Truth, *, summarised: bool = False) -> World:
    """The trials of the study, as its quick design has them."""

    def draw(random: Random) -> list[Group]:
        return [_group(truth, levels, random, summarised=summarised) for levels in _design()]

    return draw


@cache
def _design() -> tuple[Levels, ...]:
    study = load_study(find("vem2006-routers"))
    return tuple(dict(each.levels) for each in combinations(study, "quick"))


def _group(truth: Truth, levels: Levels, random: Random, *, summarised: bool = False) -> Group:
    asked_us = truth.asked_us if levels["engine"] == "500us" else 0.0
    rtts_us = []
    trials = []
    for block in range(1, BLOCKS + 1):
        typical_us = truth.rtt_us(levels) + random.normal(0, truth.apart_us)
        rtts_us.append(asked_us + typical_us * random.normal(1, 0.02, PACKETS))
        loads = [] if levels["load"] == "rest" else [_load(truth, levels, random)]
        trials.append(record(levels, levels["kind"], loads, repeat=block))
    delays = {"stack": np.concatenate(rtts_us)}
    return group(levels, delays=delays, trials=trials, summarised=summarised)


def _load(truth: Truth, levels: Levels, random: Random) -> Load:
    rate = truth.throughput(levels) * random.normal(1, 0.005)
    sent, received = rate, rate
    if levels["load"] == "150pct":
        sent, received = 1.5 * rate, truth.overload * rate * random.normal(1, 0.02)
    flow = Flow(link="out-1", sent=round(sent), received=round(received), received_per_s=received)
    routers = max(1, int(levels["routers"]))
    tries = (
        _burst(truth, rate * 1.5, rate, routers, held=False),
        _burst(truth, rate, rate, routers, held=True),
    )
    links = tuple(flow.link for flow in tries[0].flows)
    held = HeldRate(frames_per_s=rate, tolerance=TOLERANCE, bound="loss", judged=links, tries=tries)
    achieved = {"sent_per_s": sent}
    return Load(load="frames", on="source", to="sink", achieved=achieved, flows=[flow], rate=held)


def _burst(truth: Truth, offered: float, forwarded: float, routers: int, *, held: bool) -> Burst:
    sent = round(offered * BURST_S / routers)
    capacity = forwarded * BURST_S
    shares = np.ones(routers)
    if not held and routers > 1:
        shares[0] += truth.greedy
    received = np.minimum(sent, shares / shares.sum() * capacity).astype(int)
    spared = min(round(truth.spared * routers), routers - 1)
    if not held and spared:
        received[:spared] = sent
        received[spared:] = max(0, capacity - spared * sent) / (routers - spared)
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
