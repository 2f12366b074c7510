"""Tests of vem2006's claims on links, section IV C. Delays are one way, from port to port."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from typing import TypeVar

from delaylab.analysis.claims.claim import ENOUGH, Claim, NotTestable, Result
from delaylab.analysis.claims.groups import in_words, pick
from delaylab.analysis.group import Group
from delaylab.analysis.links.delays import Error
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.statistics.effects import Effect
from delaylab.papers.vem2006.published import AT_REST, DELAY_MS, RATES, UNDER_LOAD, Delays

PAPER = "section IV C"
Found = TypeVar("Found", bound=Sized)
MEASURED, BESIDE = "wan", "side"
SENDER, OTHER = "probe", "other"
NEAR_RATE = 0.1
"""Limit for "rather close": a tenth, which the paper's own rates of 1450 bytes keep."""
LITTLE_RATE = 0.02
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
                found.append(Delay(*levels, link.measured.n, link.measured.error))
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


def at_least(groups: list[Group]) -> Result:
    """Test whether every packet was delayed for at least the configured time.

    The delay counts from the sender's last stamp: the stamp at the port may be taken late, so that
    a packet looks early.
    """
    found = _some([*delays(groups, loaded=False), *delays(groups, loaded=True)], "delays")
    worst = min(found, key=lambda delay: delay.error.least_from_sender)
    least, total = worst.error.least_from_sender, sum(delay.n for delay in found)
    why = (
        f"the earliest of {total} packets came {in_words(least)} after its time "
        f"({worst.configured}, {worst.size} bytes)"
    )
    interval = (least - STAMPS_US, least + STAMPS_US)
    return Result(least >= -STAMPS_US, why, Effect(least, interval), "µs")


def true_at_rest(groups: list[Group]) -> Result:
    """Test whether the mean error of the delay at rest is no larger than the paper's."""
    return _no_worse(delays(groups, loaded=False), AT_REST)


def true_under_load(groups: list[Group]) -> Result:
    """Test whether the mean error of the delay under load is no larger than the paper's."""
    return _no_worse(delays(groups, loaded=True), UNDER_LOAD)


def _no_worse(found: list[Delay], paper: Delays) -> Result:
    beside = [(each, _papers_us(each, paper)) for each in _some(found, "delays")]
    worst, theirs = max(beside, key=lambda pair: pair[0].error.mean - pair[1])
    holds = all(max(map(abs, each.interval)) <= theirs for each, theirs in beside)
    why = (
        f"{len(beside)} delays; nearest to the paper's error, or beyond: {worst.configured} with "
        f"{worst.size} bytes, mean error {in_words(worst.error.mean)}, theirs {in_words(theirs)}"
    )
    return Result(holds, why, Effect(worst.error.mean, worst.interval), "µs")


def _papers_us(delay: Delay, paper: Delays) -> float:
    return abs(paper[delay.size][delay.configured][1] - DELAY_MS[delay.configured]) * 1000


def rate_close(groups: list[Group]) -> Result:
    """Test whether every achieved rate is within `NEAR_RATE` of the configured one."""
    found = _some(rates(groups), "rates")
    (size, delay, configured), worst = max(found.items(), key=lambda item: abs(item[1] - 1))
    why = f"furthest off: {configured} with {size} bytes and delay {delay}, {worst:.2%} of it"
    return Result(abs(worst - 1) <= NEAR_RATE, why, _exactly(worst - 1), "share")


def rate_less_true(groups: list[Group]) -> Result:
    """Test whether slower rates and smaller frames are further off, by more than a hundredth."""
    found = {(s, rate): ratio for (s, delay, rate), ratio in rates(groups).items() if delay == "0"}
    configured = [(size, rate) for size in RATES for rate in ("1Mbit", "10Mbit")]
    if any(each not in found for each in configured):
        raise NotTestable("needs 1 and 10 Mbit/s with 64 and 1450 bytes")
    off = {each: abs(found[each] - 1) for each in configured}
    slower = off["64", "1Mbit"] - off["64", "10Mbit"]
    smaller = off["64", "1Mbit"] - off["1450", "1Mbit"]
    least = min(slower, smaller)
    words = ", ".join(f"{rate} {size} B {share:.2%}" for (size, rate), share in off.items())
    return Result(least > 0.01, f"off by: {words}", _exactly(least), "share")


def delay_costs_no_rate(groups: list[Group]) -> Result:
    """Test whether a rate under delay is within `LITTLE_RATE` of that without delay."""
    found = rates(groups)
    pairs = {
        (delay, rate): ratio / found[size, "0", rate] - 1
        for (size, delay, rate), ratio in found.items()
        if delay != "0" and (size, "0", rate) in found
    }
    (delay, rate), worst = max(_some(pairs, "rates").items(), key=lambda item: abs(item[1]))
    why = f"{len(pairs)} pairs; most changed: {rate} by {worst:+.2%} under {delay}"
    return Result(abs(worst) <= LITTLE_RATE, why, _exactly(worst), "share")


def loss_as_configured(groups: list[Group]) -> Result:
    """Test whether the configured share is lost on the link, and nothing on the other."""
    lossy = [group for group in groups if group.factors.get("loss") != "none"]
    checks = [
        link.verdict.shares["loss"]
        for group in lossy
        for link in links(group, MEASURED, SENDER)
        if "loss" in link.verdict.shares
    ]
    worst = max(_some(checks, "losses"), key=lambda check: abs(check.achieved - check.configured))
    others = [link.verdict.direction for group in lossy for link in links(group, BESIDE, OTHER)]
    beside = sum(direction.dropped.loss for direction in others)
    why = f"{worst.text('loss')}; {beside} frames lost of other streams"
    holds = beside == 0 and all(check.agrees for check in checks)
    return Result(holds, why, Effect(worst.achieved, worst.interval), "share")


def _exactly(value: float) -> Effect:
    """Return an effect without uncertainty: all frames were counted, none were sampled."""
    return Effect(value, (value, value))


def _some(found: Found, what: str) -> Found:
    if not found:
        raise NotTestable(f"needs links with {what}, each with at least {ENOUGH} packets")
    return found


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "delayed-at-least-as-asked",
            "All packets are delayed for at least the configured time.",
            PAPER,
            at_least,
            effect="one-way delay of the earliest packet − the configured delay",
        ),
        Claim(
            "delay-true-at-rest",
            "Delays at rest are as true as those of figure 17.",
            "section IV C, figure 17",
            true_at_rest,
            effect="mean error of the one-way delay, where it is worst beside the paper's",
        ),
        Claim(
            "delay-true-under-load",
            "Packets are delayed correctly also at the highest load (figure 16).",
            "section IV C, figure 16",
            true_under_load,
            effect="mean error of the one-way delay, where it is worst beside the paper's",
        ),
        Claim(
            "rate-close-to-asked",
            "The rate is rather close to the configured one.",
            "section IV C, figure 18",
            rate_close,
            effect="achieved ÷ configured rate − 1, where furthest from 0",
        ),
        Claim(
            "rate-less-true-for-slow-and-small",
            "Rates are less true when slow, and for small packets.",
            "section IV C, figure 18",
            rate_less_true,
            effect="additional error of the rate, slow or small, where least",
        ),
        Claim(
            "delay-costs-no-rate",
            "Delay causes no noticeable drop of the rate.",
            "section IV C, figure 19",
            delay_costs_no_rate,
            effect="change of the achieved rate by a delay, where furthest from 0",
        ),
        Claim(
            "loss-as-asked",
            "The configured share is lost, with no effect on other streams.",
            PAPER,
            loss_as_configured,
            effect="share of frames lost, where furthest from the configured one",
        ),
    )
}
