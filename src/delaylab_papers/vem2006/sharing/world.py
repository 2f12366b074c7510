"""Trials of study vem2006-sharing as the paper would have them, or another truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from delaylab_study.papers.toolkit import (
    Design,
    Group,
    Random,
    WorkDone,
    imagined_command,
    imagined_work,
)

from ..published import JOB_MS, JOB_NODES, SPREAD_MS, UPDATES_MS, UPDATES_NODES
from .measures import REST, SENDER

BELOW = 0.8
"""The spreads of the imagined world over those of the paper, which are upper bounds."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world: times in ms, and their spread from trial to trial as a share.

    `spread_ms` is by the number of nodes and whether they are loaded. `job_ms` are the times until
    the first of five nodes is done, and the last. `whole` is the share of trains of updates that
    are not interrupted.
    """

    spread_ms: Mapping[tuple[int, bool], float] = field(
        default_factory=lambda: {key: BELOW * ms for key, ms in SPREAD_MS.items()}
    )
    job_ms: tuple[float, float] = JOB_MS
    updates_ms: float = UPDATES_MS
    whole: float = 1.0
    noise: float = 0.05


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design whose figures follow from a truth."""
    return imagined_work(design, lambda: _sender(truth, design, random))


def _sender(truth: Truth, design: Design, random: Random) -> WorkDone:
    nodes, loaded = int(design.levels["nodes"]), design.levels["load"] != REST

    def ns(ms: float) -> float:
        return 1e6 * ms * max(0.1, 1 + truth.noise * random.standard_normal())

    known = truth.spread_ms.get((nodes, loaded))
    spread_ns = ns(known if known is not None else truth.spread_ms[10, loaded] * nodes / 10)
    first_ms, last_ms = (ms * nodes / JOB_NODES for ms in truth.job_ms)
    last_ns = ns(last_ms)
    whole = min(1.0, max(0.0, truth.whole + 0.01 * random.standard_normal()))
    values = {
        "spread": (spread_ns / 2, "ns"),
        "widest": (spread_ns, "ns"),
        "done-first": (last_ns * first_ms / last_ms, "ns"),
        "done-last": (last_ns, "ns"),
        "passed-on": (ns(truth.updates_ms * nodes / UPDATES_NODES), "ns"),
        "whole": (whole, "share"),
        "heard": (1.0, "share"),
    }
    return imagined_command(SENDER, "source", values)


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design of the study, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
