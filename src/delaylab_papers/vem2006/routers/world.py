"""Trials of study vem2006-routers as the paper would have them, or a world with another truth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from delaylab_study.papers.toolkit import (
    Burst,
    Design,
    Flow,
    Group,
    HeldRate,
    Levels,
    Load,
    Random,
    imagined,
    imagined_trial,
)

from ..published import BY_TEN_ROUTERS, FORWARDED, OVERLOADED, PEAKS
from .searches import APART, CARRIED, DELAYED, LIMITED, PLAIN
from .throughput import ABOUT, EACH_TAKES, FIRST_TAKES, OVERLOADS, TEN

HOST_PER_S = {"64": FORWARDED[64], "1450": FORWARDED[1450]}
FOUR_LARGE = 4 * PEAKS["1450"] * 1e6 / 8 / 1450
"""Frames/s of 1450 bytes over four routers, by figure 18. Ten forward the 85 000 of figure 8."""
EACH_OF_LARGE = 1 - (BY_TEN_ROUTERS[0] / FOUR_LARGE) ** (1 / 6)
FIRST_OF_LARGE = 1 - FOUR_LARGE / (1 - EACH_OF_LARGE) ** 3 / FORWARDED[1450]
BURST_S = 0.5
TOLERANCE = 0.0005


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world: shares of the throughput that they take, latencies in µs.

    `first`: what the first takes of small and of large frames, `further`: each one more. `greedy`:
    how much more than its share the first router gets when overloaded, `uneven`: the deviation of
    all of them. `spared`: share of the routers that then lose nothing. `carried`: share that the
    engine leaves of one router's throughput, `carried_by_ten`: of ten routers'. `together`: share
    that routers keep of their throughput if the engine has the same CPU. `last_us`: what the last
    of many adds over the first. `limited`: share of the throughput that limits leave. `ten`: share
    of plain Linux that ten routers with emulation forward of large frames. `overload`: shares of
    its throughput that a router forwards when more is offered, and more. `apart_us`: deviation of a
    latency from block to block.
    """

    first: dict[str, float] = field(
        default_factory=lambda: {"64": FIRST_TAKES, "1450": FIRST_OF_LARGE}
    )
    further: dict[str, float] = field(
        default_factory=lambda: {"64": EACH_TAKES, "1450": EACH_OF_LARGE}
    )
    greedy: float = 0.0
    uneven: float = 0.005
    spared: float = 0.0
    carried: float = 0.9
    carried_by_ten: float = 1.0
    together: float = 0.6
    delayed: float = 0.9
    limited: float = 1.0
    ten: float = ABOUT
    overload: tuple[float, ...] = tuple(left / OVERLOADED[0] for left in OVERLOADED[1:])
    first_us: float = 200.0
    further_us: float = 5.0
    large_further_us: float = 1.0
    rest_us: float = 1.0
    last_us: float = 1.0
    asked_us: float = 1000.0
    apart_us: float = 0.2

    def host(self, levels: Levels) -> float:
        """Return the frames/s that plain Linux forwards."""
        return HOST_PER_S.get(levels["size"], HOST_PER_S["64"])

    def throughput(self, levels: Levels) -> float:
        """Return the frames/s that routers forward without loss."""
        routers = int(levels["routers"])
        if routers == 0:
            return self.host(levels)
        if (routers, levels["size"], levels["engine"]) == (TEN, "1450", DELAYED):
            return self.host(levels) * self.ten
        first = self.first.get(levels["size"], 0.3)
        of_ten = (routers - 1) / (TEN - 1)
        carried = self.carried + (self.carried_by_ten - self.carried) * of_ten
        engine = {
            PLAIN: 1.0,
            CARRIED: carried,
            APART: carried / self.together,
            DELAYED: carried * self.delayed,
            LIMITED: carried * self.limited,
        }
        alone = self.host(levels) * (1 - first) * engine[levels["engine"]]
        further = self.further.get(levels["size"], EACH_TAKES)
        return float(alone * (1 - further) ** (routers - 1))

    def rtt_us(self, levels: Levels) -> float:
        """Return the typical round trip over the routers in µs."""
        routers = int(levels["routers"])
        later = self.last_us if levels["over"] == "10th" else 0
        if levels["load"] == "rest":
            return 50 + self.rest_us * routers + later
        further_us = self.large_further_us if levels["size"] == "1450" else self.further_us
        return 50 if routers == 0 else 50 + self.first_us + further_us * (routers - 1) + later


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with throughputs and latencies that follow from a truth."""
    levels = design.levels
    asked_us = truth.asked_us if levels["engine"] == "500us" else 0.0
    rtts_us = []
    trials = []
    for block in range(1, design.trials + 1):
        typical_us = truth.rtt_us(levels) + random.normal(0, truth.apart_us)
        rtts_us.append(asked_us + typical_us * random.normal(1, 0.02, design.packets))
        loads = [] if levels["load"] == "rest" else [_load(truth, levels, random)]
        trials.append(imagined_trial(design, loads, repeat=block))
    return imagined(design, {"stack": np.concatenate(rtts_us)}, trials=trials)


def _load(truth: Truth, levels: Levels, random: Random) -> Load:
    rate = truth.throughput(levels) * random.normal(1, 0.005)
    sent, received = rate, rate
    if levels["load"] in OVERLOADS:
        times = float(levels["load"].removesuffix("pct")) / 100
        left = truth.overload[OVERLOADS[levels["load"]][1] - 1]
        sent, received = times * rate, left * rate * random.normal(1, 0.02)
    flow = Flow(link="out-1", sent=round(sent), received=round(received), received_per_s=received)
    routers = max(1, int(levels["routers"]))
    tries = (
        _burst(truth, rate * 1.5, rate, routers, random, held=False),
        _burst(truth, rate, rate, routers, random, held=True),
    )
    links = tuple(flow.link for flow in tries[0].flows)
    held = HeldRate(frames_per_s=rate, tolerance=TOLERANCE, bound="loss", judged=links, tries=tries)
    achieved = {"sent_per_s": sent}
    return Load(load="frames", on="source", to="sink", achieved=achieved, flows=[flow], rate=held)


def _burst(
    truth: Truth, offered: float, forwarded: float, routers: int, random: Random, *, held: bool
) -> Burst:
    sent = round(offered * BURST_S / routers)
    capacity = forwarded * BURST_S
    shares = np.ones(routers)
    if not held and routers > 1:
        shares *= random.normal(1, truth.uneven, routers)
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


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
