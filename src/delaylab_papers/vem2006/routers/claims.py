"""vem2006's claims on the throughput of virtual routers, sections IV B, IV C, VI A and VIII."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Effect,
    Floats,
    Group,
    Load,
    Measured,
    Source,
    above,
    amount,
    at_least,
    below,
    between,
    estimate_of_few,
    mean_of_few,
    pick,
)

from .searches import (
    CARRIED,
    DELAYED,
    HOST,
    LIMITED,
    OVERLOADED,
    PLAIN,
    SEARCHES,
    Setting,
    Shares,
    arrived,
    bursts,
    fairness,
    first_and_most,
    frames_loads,
    in_host_kernel,
    known,
    lost_shares,
    of_settings,
    ratio,
    searches,
    typical,
)

B, C = "section IV B", "section IV C"
EQUAL, NEARLY_EQUAL = 0.99, 0.95
"""Limits of Jain's index for "split equally" and "split almost equally"."""
ABOUT_A_TENTH = 0.15
"""Limit for "around 10%" and "in the order of 10%"."""
SMALLEST, LARGEST = 64, 1450
OFTEN = f"in {SEARCHES} searches or more"
TEN, ABOUT, NEAR = 10, 0.6, 0.1
"""Routers of the paper's "about 60%" of plain Linux, and the margin of "about"."""
NOTHING_MEASURABLE = 0.05
"""Limit for "unaffected", "any measurable overhead": 5 % of the throughput."""
OVERLOAD, MORE = "150pct", 1.2
"""Level of factor `load` with more than is held; the generator must send this many times it."""
COLLAPSED = 0.6
"""The paper's router forwards 60 000 frames/s of 100 000 when more is offered."""


def first_takes_more(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of throughput that the first router takes, less that of each further one."""
    rates = known(searches(pick(groups, engine=PLAIN)))
    for one, most in first_and_most(rates):
        none = replace(one, routers=0, kind=HOST)
        if none in rates:
            used = (none, one, most)
            effect = estimate_of_few([rates[each] for each in used], _excess(most.routers - 1))
            yield Measured(
                f"{most.kind}, {one.size} bytes",
                effect,
                of_settings(groups, used),
                amount(effect.value, "share"),
                aside=in_host_kernel(one.kind),
            )


def _excess(more: int) -> Callable[[list[Floats]], Floats]:
    """Return a statistic: throughput taken by the first router, less that by each of `more`."""

    def of(series: list[Floats]) -> Floats:
        none, one, most = (typical(rates) for rates in series)
        return np.asarray((1 - one / none) - (1 - most / one) / more)

    return of


def more_of_small(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of throughput that the first router takes: of small − of large frames."""
    rates = known(searches(pick(groups, engine=PLAIN)))
    for kind in sorted({one.kind for one in rates if one.routers == 1}):
        needed = [
            Setting(n, kind if n else HOST, size, PLAIN)
            for size in (SMALLEST, LARGEST)
            for n in (0, 1)
        ]
        if all(each in rates for each in needed):
            effect = estimate_of_few([rates[each] for each in needed], _takes_more_of_small)
            yield Measured(
                kind,
                effect,
                of_settings(groups, needed),
                amount(effect.value, "share"),
                aside=in_host_kernel(kind),
            )


def _takes_more_of_small(series: list[Floats]) -> Floats:
    none_small, one_small, none_large, one_large = (typical(rates) for rates in series)
    return np.asarray(one_large / none_large - one_small / none_small)


def share_of_capacity(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setting, Jain's index of what arrives when more is offered than fits.

    At a rate that is held everything arrives, whatever the routers do, so such bursts tell nothing.
    """
    return _fair(groups, arrived)


def share_of_losses(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setting, Jain's index of the shares lost when more is offered than fits."""
    return _fair(groups, lost_shares)


def _fair(groups: list[Group], of: Shares) -> Iterator[Measured]:
    for one, found in searches(groups).items():
        overloading = [rate for rate in found if bursts([rate], overloaded=True)]
        effect = fairness(overloading, overloaded=True, of=of)
        if effect is None or len(overloading) < SEARCHES:
            continue
        tries = bursts(overloading, overloaded=True)
        shares = [share for burst in tries for share in lost_shares(burst.flows)]
        words = (
            f"{len(tries)} bursts, Jain's index {effect.value:.4f}, routers lost "
            f"{min(shares):.2%} to {max(shares):.2%}"
        )
        yield Measured(one.label, effect, of_settings(groups, (one,)), words)


def costs(
    without: str, configured: str, published: float = -0.1
) -> Callable[[list[Group]], Iterator[Measured]]:
    """Return what yields the change of throughput by one sort of link in place of another."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        rates = known(searches(groups))
        for one in rates:
            other = replace(one, engine=configured)
            if one.engine == without and other in rates:
                times = ratio(rates[other], rates[one])
                change = Effect(times.value - 1, (times.interval[0] - 1, times.interval[1] - 1))
                name = f"{one.routers} × {one.kind}, {one.size} bytes"
                used = of_settings(groups, (one, other))
                yield Measured(name, change, used, amount(change.value, "share"), published)

    return measure


def of_plain_linux(groups: list[Group]) -> Iterator[Measured]:
    """Yield what ten routers forward of large frames with emulation, over what one stack does."""
    rates = known(searches(groups))
    none = Setting(0, HOST, LARGEST, PLAIN)
    for one in rates:
        if none in rates and (one.routers, one.size, one.engine) == (TEN, LARGEST, DELAYED):
            times = ratio(rates[one], rates[none])
            words = f"{amount(times.value, 'share')} of what plain Linux forwards"
            yield Measured(one.kind, times, of_settings(groups, (none, one)), words, ABOUT)


def left_by_overload(groups: list[Group]) -> Iterator[Measured]:
    """Yield what one router forwards of 64 bytes at 150 % of the rate held, over that rate.

    It is what the receiver counts while frames are sent: queues go on to drain afterwards.
    """
    for group in pick(groups, routers="1", size=str(SMALLEST), engine=PLAIN, load=OVERLOAD):
        left = [
            sum(flow.received_per_s or 0.0 for flow in load.flows) / load.rate.frames_per_s
            for trial in group.trials
            for load in frames_loads(trial)
            if load.rate is not None and _is_overload(load)
        ]
        if len(left) >= SEARCHES:
            effect = mean_of_few(np.array(left))
            words = f"{amount(effect.value, 'share')} of the rate held arrives"
            aside = in_host_kernel(group.factors["kind"])
            yield Measured(group.factors["kind"], effect, (group,), words, COLLAPSED, aside=aside)


def _is_overload(load: Load) -> bool:
    """Return True if the generator kept a rate well above the one that is held."""
    held = load.rate.frames_per_s if load.rate is not None else math.inf
    known = all(flow.received_per_s is not None for flow in load.flows)
    return known and load.achieved["sent_per_s"] >= MORE * held


OVERLOADING = (
    f"bursts over the same routers that lost over {OVERLOADED:.0%} of their frames, {OFTEN}"
)
CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "first-router-costs-most",
            "Throughput drops with the first virtual router, then gradually.",
            Source(
                B,
                "Performance of the system drops when we introduce the first virtual router. … "
                "As we increase the number of virtual routers, we observe a further reduction "
                "of the overall packet forwarding performance but this is rather gradual and "
                "not very large.",
                "figure 8",
            ),
            (
                Criterion(
                    "share of throughput: taken by the first router − by each further one",
                    "share",
                    above(0),
                    first_takes_more,
                    f"throughput of no, one and several routers, {OFTEN}",
                ),
            ),
        ),
        Claim(
            "small-frames-cost-more",
            "Small frames lose more: the cost per packet dominates.",
            Source(
                B,
                "This degradation is significant for the smaller packet sizes while for larger "
                "packets the reduction in performance is smaller.",
                "figure 8",
            ),
            (
                Criterion(
                    "share of throughput taken by the first router: of 64 − of 1450 bytes",
                    "share",
                    above(0),
                    more_of_small,
                    f"throughput of no and one router, 64 and 1450 bytes, {OFTEN}",
                ),
            ),
        ),
        Claim(
            "capacity-shared-equally",
            "The routing capacity is split equally among the routers.",
            Source(
                B,
                "In all cases we observe that the routing capacity of the system is split equally "
                "among all the virtual routers.",
                "figure 8",
            ),
            (
                Criterion(
                    "Jain's index of what arrives over each router when frames are lost",
                    "index",
                    at_least(EQUAL),
                    share_of_capacity,
                    OVERLOADING,
                ),
            ),
        ),
        Claim(
            "losses-shared-equally",
            "Under overload losses are split almost equally between the routers.",
            Source(
                B,
                "Even in cases of overload, where the offered packet rate is more than the "
                "capacity of the system, the amount of packet loss is split almost equally "
                "between the virtual routers.",
            ),
            (
                Criterion(
                    "Jain's index of the share that each router loses when frames are lost",
                    "index",
                    at_least(NEARLY_EQUAL),
                    share_of_losses,
                    OVERLOADING,
                ),
            ),
        ),
        Claim(
            "engine-costs-little",
            "Emulation without conditions costs about 10 % of the throughput.",
            Source(
                C,
                "Still, this performance loss is around 10% for 64 byte packets and it slowly "
                "drops off as we add more virtual routers resulting in practically the same "
                "performance as without NISTnet for 10 virtual routers.",
                "figure 11",
            ),
            (
                Criterion(
                    "change of throughput by the link engine",
                    "share",
                    at_least(-ABOUT_A_TENTH),
                    costs(PLAIN, CARRIED),
                    f"throughput over links {PLAIN} and {CARRIED}, {OFTEN}",
                ),
            ),
        ),
        Claim(
            "delaying-costs-little",
            "Delaying each packet for 0.5 ms costs about another 10 %.",
            Source(
                C,
                "When operating with the .5 msec delay there is an additional loss of "
                "performance, again in the order of 10%.",
                "figure 12",
            ),
            (
                Criterion(
                    "change of throughput by a delay of 0.5 ms",
                    "share",
                    at_least(-ABOUT_A_TENTH),
                    costs(CARRIED, DELAYED),
                    f"throughput over links {CARRIED} and {DELAYED}, {OFTEN}",
                ),
            ),
        ),
        Claim(
            "limits-cost-nothing",
            "Limits of the rate that are never met cost no throughput.",
            Source(
                C,
                "Packet forwarding performance was unaffected showing that the rate limiting "
                "machinery does not incur any measurable overhead.",
            ),
            (
                Criterion(
                    "change of throughput by limits above it",
                    "share",
                    at_least(-NOTHING_MEASURABLE),
                    costs(CARRIED, LIMITED, 0.0),
                    f"throughput over links {CARRIED} and {LIMITED}, {OFTEN}",
                ),
            ),
        ),
        Claim(
            "ten-routers-60-percent",
            "Ten routers with emulation forward about 60 % of what plain Linux does.",
            Source(
                "section VIII",
                "… even with 10 virtual routers and network condition emulation for 1450 byte "
                "packets we can still achieve an aggregate packet forwarding rate of about 60% "
                "of the maximum forwarding rate that the physical node can achieve when running "
                "vanilla Linux.",
            ),
            (
                Criterion(
                    "throughput of 1450 bytes: ten routers, delayed by 0.5 ms ÷ plain Linux",
                    "share",
                    between(ABOUT - NEAR, ABOUT + NEAR),
                    of_plain_linux,
                    f"throughput of ten routers over links {DELAYED}, and of none, {OFTEN}",
                ),
            ),
        ),
        Claim(
            "overload-lowers-throughput",
            "A router that is offered more than its throughput forwards less than that.",
            Source(
                "section VI A",
                "Indeed, while we are able to achieve 100 Kpackets/second for 64 byte packets "
                "with a single virtual router, when the offered load is increased the "
                "achievable throughput is reduced to 60 Kpackets/second and then to 35 "
                "Kpackets/second as the offered load is increased further.",
            ),
            (
                Criterion(
                    "frames received per second at 150 % of the rate held ÷ the rate held",
                    "share",
                    below(1),
                    left_by_overload,
                    f"{SEARCHES} trials of one router with a kernel of its own, whose generator "
                    f"sends at least {MORE:.0%} of the rate held",
                ),
            ),
        ),
    )
}
