"""Rates and losses of streams over links, as their receiver counted them: figures 18 and 19."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import (
    UNKNOWN,
    Effect,
    Flow,
    Group,
    Load,
    Measured,
    NotTestable,
    mean_of_few,
    paired,
    pick,
)

from ..published import RATES, RATES_UNDER_DELAY
from .delays import MEASURED
from .delays import SENDER as MEASURING

SMALL, LARGE = "64", "1450"
FEW_STREAMS = "4"
"""Level of factor `streams` at which one stream has a rate, a delay or losses."""
FREE = "none"
"""Level of factors `rate` and `loss` without a condition."""
BPS = {"1Mbit": 1e6, "10Mbit": 1e7, "100Mbit": 1e8}
"""Levels of factor `rate` in bit/s."""
ROUNDED_MBIT = {"1Mbit": 0.05, "10Mbit": 0.05, "100Mbit": 0.5}
"""Half a unit of the last digit of rates in figures 18 and 19, where they are rounded most."""
BUDGETS = {"1Mbit-budget": "1Mbit", "10Mbit-budget": "10Mbit"}
"""Levels of factor `rate` that are the paper's shaper, and the same rates frame by frame."""
REFILLS = 100
"""Times per second at which the paper's shaper sets its budget of bytes anew."""
LOSSY, LOST = "1pct", 0.01
"""Level of factor `loss` with losses, and the share that is configured."""
FRAMING = 20
"""Bytes on the wire beside each frame: preamble, delimiter and gap; rates count them, but those of
budgets: the paper's counts bytes of packets."""
OFFERED = 1.05
"""A stream that sent less than this times its limit says nothing of the limit."""
NEAR_RATE = 1.0
"""Limit for "rather close", over the largest error that the paper calls so (`possible_share`)."""
LITTLE_RATE = 0.02
"""Limit for "any noticeable drop". The paper's own rates drop by up to 1 %, and are rounded to
0.5 %."""
RIGHT_LOSS = 0.1
"""Limit for "the right percentage": a tenth of the configured one."""
NO_EFFECT = 0.001
"""Limit for "zero effect on the traffic of the other streams": the share of it that is missing."""
NO_BUDGET = (
    "needs a shaper with a byte budget that is refilled 100 times a second, as the paper's; these "
    "links space frame by frame (mechanism absent): run levels `1Mbit-budget` and `10Mbit-budget`"
)


@dataclass(frozen=True, slots=True)
class Received:
    """Rates of one stream in bit/s, framing counted: received in each block, and offered.

    `group` is the group of its trials.
    """

    by_block: dict[int, float]
    offered: float
    group: Group


@dataclass(frozen=True, slots=True)
class Limit:
    """The frame size, delay and rate, as named by the levels of `size`, `delay` and `rate`."""

    size: str
    delay: str
    rate: str

    @property
    def bps(self) -> float:
        """Return the configured rate in bit/s."""
        return BPS[self.rate]

    @property
    def published(self) -> float | None:
        """Return the paper's rate over the configured one, None if it gives none."""
        paper = RATES[self.size] if self.delay == "0" else RATES_UNDER_DELAY.get(self.delay, {})
        if self.size != LARGE and self.delay != "0":
            return None
        theirs = paper.get(self.rate)
        return None if theirs is None else theirs * 1e6 / self.bps


def peaks(groups: list[Group]) -> dict[str, Received]:
    """Return, by frame size, what the stream receives without a limit."""
    free = pick(groups, streams=FEW_STREAMS, delay="0", rate=FREE, loss=FREE)
    found = ((group.factors["size"], _received(group)) for group in free)
    return {size: received for size, received in found if received is not None}


def rates(groups: list[Group]) -> dict[Limit, Received]:
    """Return what the stream receives under each limit of its rate."""
    found = {}
    for group in pick(groups, streams=FEW_STREAMS, loss=FREE):
        levels = group.factors
        received = _received(group)
        if levels["rate"] in BPS and received is not None:
            found[Limit(levels["size"], levels["delay"], levels["rate"])] = received
    return found


def budgets(groups: list[Group]) -> dict[Limit, Received]:
    """Return what the stream receives under each budget of bytes that acted and that it exceeded.

    The links' reports say whether the budget was there, the stream's own counts whether it was met.
    """
    found = {}
    for group in pick(groups, streams=FEW_STREAMS, delay="0", loss=FREE):
        rate = BUDGETS.get(group.factors["rate"])
        received = _received(group, framing=0) if rate and _has_budget(group) else None
        if rate and received is not None:
            limit = Limit(group.factors["size"], "0", rate)
            if received.offered >= OFFERED * limit.bps:
                found[limit] = received
    return found


def _received(group: Group, framing: int = FRAMING) -> Received | None:
    bits = 8 * (int(group.factors["size"]) + framing)
    by_block, offered = {}, []
    for trial in group.trials:
        for load, flow in _streams(trial.loads, MEASURED):
            if flow.received_per_s is not None:
                by_block[trial.block] = flow.received_per_s * bits
                offered.append(flow.sent / sum(f.sent for f in load.flows) * _sent_per_s(load))
    return Received(by_block, float(np.median(offered)) * bits, group) if by_block else None


def _streams(loads: list[Load], link: str) -> Iterator[tuple[Load, Flow]]:
    for load in loads:
        yield from ((load, flow) for flow in load.flows if flow.link == link)


def _sent_per_s(load: Load) -> float:
    return load.achieved.get("sent_per_s", 0.0)


def rates_achieved(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of each rate over the largest that the paper's numbers leave possible.

    A stream that sent too little to meet its limit stands aside.
    """
    for limit, received in rates(groups).items():
        off = mean_of_few(np.array([bps / limit.bps - 1 for bps in received.by_block.values()]))
        meets = received.offered >= OFFERED * limit.bps
        offered = "" if meets else f", of {received.offered / 1e6:.3g} Mbit/s offered"
        possible = possible_share(limit.size, limit.rate)
        low, high = sorted(map(abs, off.interval))
        low = 0.0 if off.interval[0] < 0 < off.interval[1] else low
        theirs = limit.published
        yield Measured(
            _named(limit),
            Effect(abs(off.value) / possible, (low / possible, high / possible)),
            (received.group,),
            f"{1 + off.value:.2%} of it{offered}",
            None if theirs is None else abs(theirs - 1) / possible,
            aside=not meets,
        )


def possible_share(size: str, rate: str) -> float:
    """Return how far off the paper's own rates may be, under any delay, with half a last digit."""
    known: list[dict[str, float]] = [RATES[size]]
    if size == LARGE:
        known += RATES_UNDER_DELAY.values()
    configured = BPS[rate] / 1e6
    furthest = max(abs(each[rate] / configured - 1) for each in known)
    return furthest + ROUNDED_MBIT[rate] / configured


def slow_and_small(groups: list[Group]) -> Iterator[Measured]:
    """Yield how much further off a slow rate of small frames is than a fast one, and than large.

    All are of byte budgets. Raise NotTestable if no link was shaped by one.
    """
    if groups and not any(_has_budget(group) for group in groups):
        raise NotTestable(NO_BUDGET)
    found = budgets(groups)
    slow = Limit(SMALL, "0", "1Mbit")
    others = (("slower", Limit(SMALL, "0", "10Mbit")), ("smaller", Limit(LARGE, "0", "1Mbit")))
    for name, other in others:
        if slow not in found or other not in found:
            continue
        ours, theirs = (_off(limit, found[limit]) for limit in (slow, other))
        effect = _of_blocks(ours, theirs, lambda a, b: a - b)
        published = [abs(limit.published - 1) for limit in (slow, other) if limit.published]
        yield Measured(
            name,
            effect,
            [found[slow].group, found[other].group],
            f"off by {_share(ours):.2%}, and by {_share(theirs):.2%} with {_named(other)}",
            published[0] - published[1],
        )


def changed_by_delay(groups: list[Group]) -> Iterator[Measured]:
    """Yield the change of each rate by a delay, each trial beside that of its block without."""
    found = rates(groups)
    for limit, received in found.items():
        base = Limit(limit.size, "0", limit.rate)
        if limit.delay == "0" or base not in found:
            continue
        without = found[base]
        effect = _of_blocks(received.by_block, without.by_block, lambda a, b: a / b - 1)
        theirs = [each.published for each in (limit, base) if each.published]
        yield Measured(
            _named(limit),
            effect,
            [received.group, without.group],
            f"{effect.value:+.2%}",
            theirs[0] / theirs[1] - 1 if len(theirs) == 2 else None,
        )


def losses(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the share lost, as a part of the configured share.

    The share is that of the frames that other streams of the same trial did not lose: at the
    highest rate routers may lose a few of every stream.
    """
    for group in pick(groups, streams=FEW_STREAMS, loss=LOSSY):
        shares = [1 - (1 - own) / (1 - others) for own, others in _lost(group).values()]
        if shares:
            effect = mean_of_few(np.array([share / LOST - 1 for share in shares]))
            words = f"{float(np.mean(shares)):.3%} lost, {LOST:.0%} configured"
            yield Measured(_size(group), effect, (group,), words)


def missing_of_others(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the others' frames that is missing, more than in a block's trial without.

    The reason does not matter: it is what their receiver did not get.
    """
    for group in pick(groups, streams=FEW_STREAMS, loss=LOSSY):
        free = pick(
            groups, streams=FEW_STREAMS, delay="0", rate=FREE, loss=FREE, size=group.factors["size"]
        )
        without = {block: lost for each in free for block, (_, lost) in _lost(each).items()}
        beside = {block: lost for block, (_, lost) in _lost(group).items()}
        if without and beside:
            effect = _of_blocks(beside, without, lambda a, b: a - b)
            words = f"{_share(beside):.3%} missing, {_share(without):.3%} without losses beside"
            yield Measured(_size(group), effect, [group, *free], words)


def _lost(group: Group) -> dict[int, tuple[float, float]]:
    """Return, by block, the shares lost by the measured stream, and by all others together."""
    found = {}
    for trial in group.trials:
        for load, flow in _streams(trial.loads, MEASURED):
            others = [each for each in load.flows if each.link != MEASURED]
            sent = sum(each.sent for each in others)
            if flow.sent and sent:
                beside = 1 - sum(each.received for each in others) / sent
                found[trial.block] = 1 - flow.received / flow.sent, beside
    return found


def _of_blocks(
    ours: dict[int, float], theirs: dict[int, float], of: Callable[[float, float], float]
) -> Effect:
    """Return the mean, over the blocks that have both, of what a trial is beside the other."""
    found = paired(ours, theirs, of)
    if not len(found):
        return Effect(of(_share(ours), _share(theirs)), UNKNOWN)
    return mean_of_few(found)


def _off(limit: Limit, received: Received) -> dict[int, float]:
    return {block: abs(bps / limit.bps - 1) for block, bps in received.by_block.items()}


def _share(by_block: dict[int, float]) -> float:
    return float(np.mean(list(by_block.values())))


def _named(limit: Limit) -> str:
    return f"{limit.rate}, {limit.size} bytes, delay {limit.delay}"


def _size(group: Group) -> str:
    return f"{group.factors['size']} bytes"


def _has_budget(group: Group) -> bool:
    """Return True if the measured stream was shaped by a budget of bytes in every trial."""
    refills = [
        direction.configured.rate and direction.configured.rate.refills
        for trial in group.trials
        for report in trial.links
        for direction in report.directions
        if direction.link == MEASURED and MEASURING in direction.nodes
    ]
    return bool(refills) and all(each == REFILLS for each in refills)
