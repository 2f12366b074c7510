"""Rates of flows while others are shaped or a node burns CPU: vem2006, end of section IV C.

Ten routers each carry a flow; five flows are shaped, and one belongs to a hog, a node that burns
CPU. Rates are compared within a block of trials, which ran near each other in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import (
    Effect,
    Group,
    Load,
    TrialRecord,
    mean_of_few,
    paired,
    pick,
)

from ..routers.searches import SEARCHES, frames_loads

SHAPED_MS = {"out-1ms": 1, "out-5ms": 5, "out-10ms": 10, "out-50ms": 50, "out-100ms": 100}
"""Links that are shaped in half of the trials, and their delays in ms, one way."""
HOG = "out-hog"
KindAndSize = tuple[str, str]
"""Kind of router and frame size, as named by the levels of `kind` and `size`."""
NOTHING, HALF, IN_LINK, TENTH = "none", "half", "half-in-link", "half-at-10mbit"
"""Levels of factor `shaping`: no flow is shaped; half of them by blocking their sender; half of
them in the link, because a virtual machine cannot be blocked so; the same at a tenth of the rate,
which emulated routers can exceed."""
RATES_BPS = {HALF: 100e6, IN_LINK: 100e6, TENTH: 10e6}
"""The rate to which shaped flows are held, by level of factor `shaping`."""
QUIET, BUSY = "forwarding", "hog"
CHECK_SEQUENCE = 4
"""Bytes at the end of each frame that the link engine does not see."""
FRAMING = 20
"""Bytes on the wire beside each frame: preamble, delimiter and gap; shapers count them."""


@dataclass(frozen=True, slots=True)
class BlockTrial:
    """One trial of a block: frames/s received by flow, and their share of the configured rate."""

    repeat: int
    per_s: dict[str, float]
    share: dict[str, float]

    def unshaped(self, values: dict[str, float]) -> float:
        """Return the mean over the flows that are shaped in no trial and are not the hog's."""
        others = [v for link, v in values.items() if link not in SHAPED_MS and link != HOG]
        return float(np.mean(others))


def blocks(
    groups: list[Group], where: KindAndSize, shaping: str, load: str
) -> dict[int, BlockTrial]:
    """Return the trials of one combination of levels, by the repeat that they belong to."""
    kind, size = where
    return {
        trial.block: found
        for group in pick(of_shaping(groups, shaping), kind=kind, size=size, load=load)
        for trial in group.trials
        if (found := _block(trial)) is not None
    }


def of_shaping(groups: list[Group], shaping: str) -> list[Group]:
    """Return the groups in which half of the flows are shaped, however that is done, or none is."""
    levels = RATES_BPS if shaping == HALF else (shaping,)
    return [group for group in groups if group.factors.get("shaping") in levels]


def _block(trial: TrialRecord) -> BlockTrial | None:
    load = next((load for load in frames_loads(trial) if load.rate and load.flows), None)
    if load is None:
        return None
    seconds = _seconds(load)
    return BlockTrial(
        trial.block,
        {flow.link: flow.received / seconds for flow in load.flows},
        {flow.link: flow.received / _configured(load, seconds) for flow in load.flows},
    )


def _seconds(load: Load) -> float:
    return load.achieved["sent"] / load.achieved["sent_per_s"]


def _configured(load: Load, seconds: float) -> float:
    """Return the number of frames of one flow, had the generator kept the rate."""
    return load.achieved["asked_per_s"] * seconds / len(load.flows)


def settings(groups: list[Group]) -> list[KindAndSize]:
    """Return the kinds and sizes of an isolation study; none for any other study."""
    of_it = [
        group.factors for group in groups if {"shaping", "kind", "size"} <= group.factors.keys()
    ]
    return list(dict.fromkeys((levels["kind"], levels["size"]) for levels in of_it))


def unshaped_rates(groups: list[Group], where: KindAndSize) -> Effect | None:
    """Return the relative change of what unshaped flows receive when others are shaped.

    Return None if there are fewer than `SEARCHES` blocks with both trials.
    """
    before = blocks(groups, where, NOTHING, QUIET)
    after = blocks(groups, where, HALF, QUIET)
    return _paired(before, after, lambda a, b: b.unshaped(b.per_s) / a.unshaped(a.per_s) - 1)


def hog_takes(groups: list[Group], where: KindAndSize, shaping: str) -> Effect | None:
    """Return the change, by a hog, of the share of unshaped flows' frames that arrives.

    The share is of the frames configured in the same trial: the hog was not at work while the rate
    was searched. Return None if there are fewer than `SEARCHES` blocks with both trials.
    """
    before = blocks(groups, where, shaping, QUIET)
    after = blocks(groups, where, shaping, BUSY)
    return _paired(before, after, lambda a, b: b.unshaped(b.share) - a.unshaped(a.share))


def _paired(
    before: dict[int, BlockTrial],
    after: dict[int, BlockTrial],
    of: Callable[[BlockTrial, BlockTrial], float],
) -> Effect | None:
    values = paired(before, after, of)
    return mean_of_few(values) if len(values) >= SEARCHES else None


@dataclass(frozen=True, slots=True)
class Shaped:
    """A shaped flow of a trial: what it received over what it was due, and its median lateness."""

    link: str
    kind: str
    size: str
    ratio: float
    late_us: float | None


def shaped(groups: list[Group]) -> list[Shaped]:
    """Return every shaped flow of every trial in which half of the flows are shaped.

    A flow that sends more than its rate is due that rate, as the receiver counts it while frames
    are sent. A flow that sends less is due all that it sent. Frames that wait in a queue when the
    load ends therefore do not count as lost.
    """
    return [each for group in of_shaping(groups, HALF) for each in _shaped(group)]


def _shaped(group: Group) -> Iterator[Shaped]:
    links = {
        (link.trial, link.verdict.direction.link): link.verdict
        for link in group.directions
        if link.verdict.direction.configured.rate is not None
    }
    size = group.factors["size"]
    limit_bps = RATES_BPS[group.factors["shaping"]]
    for trial in group.trials:
        for load in frames_loads(trial):
            for flow in load.flows:
                verdict = links.get((trial.id, flow.link))
                if flow.link not in SHAPED_MS or verdict is None:
                    continue
                bits = 8 * (int(size) + FRAMING)
                ratio = flow.received / flow.sent if flow.sent else 0.0
                offered = flow.sent * bits / _seconds(load)
                if offered > limit_bps and flow.received_per_s is not None:
                    ratio = flow.received_per_s * bits / limit_bps
                late_ns = verdict.late.p50_ns
                late_us = None if late_ns is None else late_ns / 1000
                yield Shaped(flow.link, group.factors["kind"], size, ratio, late_us)
