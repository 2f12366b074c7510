"""Trials of study vem2006-isolation as the paper would have them, or another truth."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab_study.papers.toolkit import (
    Design,
    EngineReport,
    Flow,
    Group,
    HeldRate,
    Levels,
    Load,
    Random,
    imagined,
    imagined_trial,
)

from ..published import BY_TEN_ROUTERS
from .measures import CHECK_SEQUENCE, FRAMING, HOG, RATES_BPS, SHAPED_MS

UNSHAPED = [f"out-{number}" for number in range(1, 5)]
LINKS = [*UNSHAPED, HOG, *SHAPED_MS]
SECONDS = 5.0
SECOND = 10**9


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world: all frames/s, and the shares that shaping and the hog take.

    `shaper`: the rate over the one asked; `queued`: seconds of it that arrive after the load.
    """

    per_s: float = BY_TEN_ROUTERS[1]
    shaping_takes: float = 0.0
    hog_takes: float = 0.0
    shaper: float = 1.0
    shaped_loses: float = 0.0
    queued: float = 0.2
    late_us: float = 8.0
    noise: float = 0.003


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with rates and lateness that follow from a truth."""
    levels = design.levels
    shaped = SHAPED_MS if levels["shaping"] != "none" else ()
    engine = EngineReport.model_validate(
        {
            "host": "here",
            "state": "running",
            "directions": [_direction(link, truth, levels) for link in shaped],
        }
    )
    trials = [
        imagined_trial(design, [_load(truth, levels, random)], [engine], repeat=block)
        for block in range(1, design.trials + 1)
    ]
    return imagined(design, {}, trials=trials)


def _direction(link: str, truth: Truth, levels: Levels) -> dict[str, object]:
    late_ns = truth.late_us * 1000
    size = int(levels["size"])
    limit_bps = truth.shaper * RATES_BPS[levels["shaping"]]
    per_s = min(truth.per_s / len(LINKS), limit_bps / 8 / (size + FRAMING))
    frames = round(per_s * SECONDS)
    passed = {"frames": frames, "bytes": frames * (size - CHECK_SEQUENCE)}
    return {
        "link": link,
        "node": "r",
        "port": "vif-r",
        "nodes": ["r"],
        "asked": {"rate": {"bps": RATES_BPS[levels["shaping"]]}},
        "late": {"count": 1000, "p50_ns": late_ns, "p99_ns": 3 * late_ns},
        "in": passed,
        "out": passed,
        "first_out_ns": SECOND,
        "last_out_ns": SECOND + round(SECONDS * SECOND),
    }


def _load(truth: Truth, levels: Levels, random: Random) -> Load:
    shaped = levels["shaping"] != "none"
    rate = truth.per_s * random.normal(1, truth.noise) * (1 - truth.shaping_takes * shaped)
    each = round(rate * SECONDS / len(LINKS))
    arrives = round(each * (1 - truth.hog_takes * (levels["load"] == "hog")))
    seconds = SECONDS + truth.queued
    limit_bps = truth.shaper * RATES_BPS.get(levels["shaping"], 0.0)
    most = round(limit_bps * seconds / 8 / (int(levels["size"]) + FRAMING))
    most = min(most, round(each * (1 - truth.shaped_loses)))
    flows = [
        Flow(
            link=link,
            sent=each,
            received=min(each, most) if shaped else each,
            received_per_s=most / seconds if shaped else each / SECONDS,
        )
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


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
