"""Quantities of vem2006's claims on links, section IV C. Delays are one way, from port to port."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from delaylab.analysis.claims.claim import ENOUGH, Measured, NotTestable
from delaylab.analysis.claims.groups import pick
from delaylab.analysis.claims.words import in_words
from delaylab.analysis.group import Group
from delaylab.analysis.links.delays import Error
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.statistics.effects import Effect
from delaylab.papers.vem2006.published import (
    AT_REST,
    DELAY_MS,
    RATES,
    RATES_UNDER_DELAY,
    UNDER_LOAD,
    Delays,
)
from delaylab.units import Rate

SMALL, LARGE = "64", "1450"
ENGINES = ("own", "kernel")
"""Engines that space frames one by one."""
MEASURED, BESIDE = "wan", "side"
SENDER, OTHER = "probe", "other"
NEAR_RATE = 0.12
"""Limit for "rather close". The paper's own rates of 1450 bytes are up to 10 % off."""
LITTLE_RATE = 0.02
"""Limit for "any noticeable drop". The paper's own rates drop by up to 1 %."""
AS_TRUE = 1.25
"""Limit for an error that is no larger than the paper's: a quarter more, for chance."""
EARLY_SHARE = 0.025
"""Share of the configured delay by which a frame may be early under load. The paper's earliest were
up to 2.2 % early."""
RIGHT_LOSS = 0.1
"""Limit for "the right percentage": a tenth of the configured one."""
NO_EFFECT = 0.001
"""Limit for "zero effect on the traffic of the other streams": the share of it that is missing."""
NO_BUDGET = (
    "needs a shaper with a byte budget that is refilled 100 times a second, as the paper's; the "
    "link engine spaces frame by frame (mechanism absent)"
)
STAMPS_US = 1.0
"""Largest error of two taps' stamps of one clock, in µs: the second may be taken this much
early."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Error of one configured delay: µs measured less configured, of n packets."""

    size: str
    configured: str
    n: int
    error: Error
    group: Group

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the mean in µs, as for independent packets."""
        half = 1.96 * self.error.deviation / math.sqrt(self.n)
        return self.error.mean - half, self.error.mean + half


def links(group: Group, link: str, sender: str) -> Iterator[TrialLink]:
    """Yield a group's verdicts on this link where `sender` sends, trial by trial."""
    for found in group.links:
        direction = found.verdict.direction
        if direction.link == link and sender in direction.nodes:
            yield found


def delays(groups: list[Group], *, loaded: bool) -> list[Delay]:
    """Return the errors of the configured delays, without rate and loss, at rest or under load."""
    found = []
    for group in pick(groups, rate="none", loss="none"):
        if (group.factors["load"] != "none") != loaded:
            continue
        for link in links(group, MEASURED, SENDER):
            if link.measured and link.measured.error and link.measured.n >= ENOUGH:
                levels = group.factors["size"], group.factors["delay"]
                found.append(Delay(*levels, link.measured.n, link.measured.error, group))
    return found


def rates(groups: list[Group]) -> dict[tuple[str, str, str], float]:
    """Return achieved over configured rates, by (size, delay, configured rate)."""
    found = {}
    for group in groups:
        for link in links(group, MEASURED, SENDER):
            rate = link.verdict.rate
            if rate is not None:
                levels = group.factors
                configured = levels["size"], levels["delay"], levels["rate"]
                found[configured] = rate.achieved / rate.configured
    return found


def earliest(groups: list[Group], *, loaded: bool) -> Iterator[Measured]:
    """Yield, for each delay, by how much the earliest packet came after its time.

    It counts from the sender's last stamp: the stamp at the port may be taken late, so that a
    packet looks early. At rest it is in µs, under load a share of the configured delay.
    """
    paper = UNDER_LOAD if loaded else AT_REST
    for each in delays(groups, loaded=loaded):
        configured_us = DELAY_MS[each.configured] * 1000
        if configured_us == 0:
            continue
        least = each.error.least_from_sender
        published = paper[each.size][each.configured][0] * 1000 - configured_us
        if loaded:
            least, published = least / configured_us, published / configured_us
        yield Measured(
            _named(each),
            _exactly(least),
            (each.group,),
            f"the earliest of {each.n} packets {in_words(each.error.least_from_sender)} after its "
            "time",
            published,
        )


def earliest_at_rest(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the earliest packet at rest in µs, for each delay."""
    return earliest(groups, loaded=False)


def earliest_under_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the earliest packet under load as a share of the delay, for each delay."""
    return earliest(groups, loaded=True)


def errors(*, loaded: bool) -> Callable[[list[Group]], Iterator[Measured]]:
    """Return what yields, for each delay, its mean error over the paper's mean error."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for each in delays(groups, loaded=loaded):
            theirs = _papers_us(each, UNDER_LOAD if loaded else AT_REST)
            low, high = sorted(map(abs, each.interval))
            low = 0.0 if each.interval[0] < 0 < each.interval[1] else low
            yield Measured(
                _named(each),
                Effect(abs(each.error.mean) / theirs, (low / theirs, high / theirs)),
                (each.group,),
                f"mean error {in_words(each.error.mean)}, the paper's {in_words(theirs)}",
                1.0,
            )

    return measure


def _papers_us(delay: Delay, paper: Delays) -> float:
    return abs(paper[delay.size][delay.configured][1] - DELAY_MS[delay.configured]) * 1000


def rates_achieved(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of each rate; those of small frames, less accurate in the paper, aside."""
    for (size, delay, configured), ratio in rates(groups).items():
        paper = RATES[size] if delay == "0" else RATES_UNDER_DELAY.get(delay, {})
        theirs = paper.get(configured) if size == LARGE or delay == "0" else None
        yield Measured(
            f"{configured}, {size} bytes, delay {delay}",
            _exactly(ratio - 1),
            _at(groups, size, delay, configured),
            f"{ratio:.2%} of it",
            theirs / _mbit(configured) - 1 if theirs is not None else None,
            aside=size != LARGE,
        )


def slow_and_small(groups: list[Group]) -> Iterator[Measured]:
    """Yield how much further off a slow rate of small frames is than a fast one, and than large.

    Raise NotTestable if the links are shaped without a byte budget.
    """
    if groups and not any(_has_budget(group) for group in groups):
        raise NotTestable(NO_BUDGET)
    off = {
        (size, rate): abs(ratio - 1)
        for (size, delay, rate), ratio in rates(groups).items()
        if delay == "0"
    }
    slow = SMALL, "1Mbit"
    for name, other in (("slower", (SMALL, "10Mbit")), ("smaller", (LARGE, "1Mbit"))):
        if slow in off and other in off:
            theirs = [abs(RATES[size][rate] / _mbit(rate) - 1) for size, rate in (slow, other)]
            yield Measured(
                name,
                _exactly(off[slow] - off[other]),
                [*_at(groups, slow[0], "0", slow[1]), *_at(groups, other[0], "0", other[1])],
                f"off by {off[slow]:.2%}, and by {off[other]:.2%} with {' bytes at '.join(other)}",
                theirs[0] - theirs[1],
            )


def changed_by_delay(groups: list[Group]) -> Iterator[Measured]:
    """Yield the change of each achieved rate by a delay."""
    found = rates(groups)
    for (size, delay, rate), ratio in found.items():
        without = found.get((size, "0", rate))
        if delay == "0" or without is None:
            continue
        theirs = RATES_UNDER_DELAY.get(delay, {}).get(rate) if size == LARGE else None
        yield Measured(
            f"{rate}, {size} bytes, delay {delay}",
            _exactly(ratio / without - 1),
            [*_at(groups, size, delay, rate), *_at(groups, size, "0", rate)],
            f"{ratio / without - 1:+.2%}",
            theirs / RATES[LARGE][rate] - 1 if theirs is not None else None,
        )


def losses(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of each share of frames lost, as a part of the configured share."""
    for group in _lossy(groups):
        for link in links(group, MEASURED, SENDER):
            check = link.verdict.shares.get("loss")
            if check is not None and check.configured > 0:
                value, low, high = (
                    share / check.configured - 1 for share in (check.achieved, *check.judged)
                )
                effect = Effect(value, (low, high))
                yield Measured(f"{group.label}, {link.trial}", effect, (group,), check.text("loss"))


def missing_of_others(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the other stream's frames that did not leave, whatever the reason."""
    for group in _lossy(groups):
        for link in links(group, BESIDE, OTHER):
            frames, dropped = link.verdict.direction.entered.frames, link.verdict.direction.dropped
            missing = sum(dropped.model_dump().values()) + link.verdict.direction.port_dropped
            sent = frames + dropped.ring
            if sent:
                share = missing / sent
                yield Measured(
                    f"{group.label}, {link.trial}",
                    _exactly(share),
                    (group,),
                    f"{missing} of the other stream's {sent} frames are missing",
                )


def _lossy(groups: list[Group]) -> list[Group]:
    return [group for group in groups if group.factors.get("loss", "none") != "none"]


def _at(groups: list[Group], size: str, delay: str, rate: str) -> list[Group]:
    return pick(groups, size=size, delay=delay, rate=rate)


def _named(delay: Delay) -> str:
    return f"{delay.configured}, {delay.size} bytes"


def _mbit(rate: str) -> float:
    return Rate.parse(rate).bps / 1e6


def _has_budget(group: Group) -> bool:
    """Return True if a group's links were shaped by something else than the link engine."""
    return any(report.engine not in ENGINES for trial in group.trials for report in trial.links)


def _exactly(value: float) -> Effect:
    """Return an effect without uncertainty: all frames were counted, none were sampled."""
    return Effect(value, (value, value))
