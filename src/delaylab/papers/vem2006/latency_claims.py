"""Tests of vem2006's claims on the latency of virtual routers, section IV B.

RTTs are from the kernel's stamp on sending to that on receipt. The probe shares a CPU with the
generator, and its waiting there has nothing to do with routers. (The paper stamps in the
application that sends, and by tcpdump on receipt.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from delaylab.analysis.claims.claim import ENOUGH, Claim, NotTestable, Result, samples, within
from delaylab.analysis.claims.groups import in_words, pick, weakest
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import Effect, estimate
from delaylab.analysis.statistics.quantiles import Floats
from delaylab.papers.vem2006.forwarding import (
    DELAYED,
    HOST,
    PLAIN,
    Setting,
    first_and_most,
    listed,
    median,
    setting,
)

B = "section IV B"
HARDLY = 0.25
"""Limit for "more or less constant": a quarter of the latency of one router."""
SAME = 0.1
"""Limit for "the same amount of latency": a tenth."""
REST, HIGHEST = "rest", "90pct"
FIRST = "1st"
"""Level of factor `over` at which the probe's packets take the first router."""
RTT = "stack"
CONFIGURED_US, STAMPS_US = 1000.0, 1.0
"""Configured delay in µs, round trip: 0.5 ms there and 0.5 ms back. Error of two stamps in µs."""


def over(group: Group) -> str:
    """Return the router that the probe's packets took; older studies had no choice: the first."""
    return group.factors.get("over", FIRST)


def by_router(
    groups: list[Group], load: str, engine: str = PLAIN
) -> dict[Setting, dict[str, Floats]]:
    """Return kernel RTTs in µs by setting and router, under one load, over one sort of link."""
    found: dict[Setting, dict[str, Floats]] = {}
    for group in pick(groups, engine=engine, load=load):
        here, values = setting(group), samples(group, RTT)
        if here is not None and values is not None:
            found.setdefault(here, {})[over(group)] = values
    return found


def delays(groups: list[Group], load: str, engine: str = PLAIN) -> dict[Setting, Floats]:
    """Return kernel RTTs in µs over the first router, by setting (see `by_router`)."""
    found = by_router(groups, load, engine)
    return {one: rtts[FIRST] for one, rtts in found.items() if FIRST in rtts}


def flat_at_rest(groups: list[Group]) -> Result:
    """Test whether the median RTT at rest hardly grows from the only router to one of many.

    It may be larger by a share of at most `HARDLY`.
    """
    rtts = delays(groups, REST)
    found = {
        f"{most.kind}, {one.size} bytes, {most.routers} routers": estimate(
            [rtts[one], rtts[most]], lambda s: median(s[1]) / median(s[0]) - 1
        )
        for one, most in first_and_most(rtts)
    }
    if not found:
        raise NotTestable(f"needs RTTs of {ENOUGH} packets at rest, one router and several")
    worst = max(found, key=lambda name: found[name].interval[1])
    effect = found[worst]
    why = f"median RTT over that of one router: {listed(found, lambda share: f'{share:+.1%}')}"
    return Result(within(found.values(), most=HARDLY), why, effect, "share")


def same_over_each(groups: list[Group]) -> Result:
    """Test whether the median RTTs over many routers are within `SAME` of that over the first."""
    found = {
        f"{router} of {one.label}, {load}": estimate(
            [rtts[FIRST], values], lambda s: median(s[1]) / median(s[0]) - 1
        )
        for load in (REST, HIGHEST)
        for one, rtts in by_router(groups, load).items()
        if FIRST in rtts
        for router, values in rtts.items()
        if router != FIRST
    }
    if not found:
        raise NotTestable(f"needs RTTs of {ENOUGH} packets over each of two or more routers")
    worst = max(found.values(), key=lambda effect: max(map(abs, effect.interval)))
    why = f"median RTT over that of the first: {listed(found, lambda share: f'{share:+.1%}')}"
    return Result(within(found.values(), -SAME, SAME), why, worst, "share")


def first_adds(groups: list[Group]) -> Result:
    """Test whether under load the first router adds more latency than each further one."""
    rtts = delays(groups, HIGHEST)
    found = {
        f"{most.kind}, {one.size} bytes": estimate(
            [rtts[none], rtts[one], rtts[most]], _excess(most.routers - 1)
        )
        for one, most in first_and_most(rtts)
        if (none := replace(one, routers=0, kind=HOST)) in rtts
    }
    _, effect = weakest(found, "RTTs at 90 % of the rate held over no, one and several routers")
    why = f"the first router adds more than each further one by: {listed(found, in_words)}"
    return Result(effect.interval[0] > 0, why, effect, "µs")


def delayed_over_routers(groups: list[Group]) -> Result:
    """Test whether every probe was delayed as configured on both ways, whatever the load."""
    loads = dict.fromkeys(group.factors.get("load", "") for group in groups)
    rtts = {
        f"{one.label}, {load}": values
        for load in loads
        for one, values in delays(groups, load, DELAYED).items()
    }
    if not rtts:
        raise NotTestable(f"needs RTTs of {ENOUGH} packets over links that delay them")
    worst = min(rtts, key=lambda where: rtts[where].min())
    least_us = float(rtts[worst].min()) - CONFIGURED_US
    why = (
        f"of {sum(map(len, rtts.values()))} round trips the shortest took {in_words(least_us)} more"
        f" than the configured {in_words(CONFIGURED_US)} ({worst})"
    )
    interval = (least_us - STAMPS_US, least_us + STAMPS_US)
    return Result(least_us >= -STAMPS_US, why, Effect(least_us, interval), "µs")


def _excess(more: int) -> Callable[[list[Floats]], Floats]:
    """Return a statistic: latency added by the first router, less that by each of `more`."""

    def of(series: list[Floats]) -> Floats:
        none, one, most = (median(rtts) for rtts in series)
        return np.asarray((one - none) - (most - one) / more)

    return of


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "latency-flat-at-rest",
            "At rest latency is more or less constant as routers are added (figure 9).",
            B,
            flat_at_rest,
            effect="change of the median kernel RTT from the only router to one of many",
        ),
        Claim(
            "latency-same-over-each",
            "All virtual routers introduce the same amount of latency (figures 9, 10).",
            B,
            same_over_each,
            effect="change of the median kernel RTT from the first router to another, where "
            "furthest from 0",
        ),
        Claim(
            "first-router-adds-latency",
            "Under load the first router adds latency, more routers less so (figure 10).",
            B,
            first_adds,
            effect="median kernel RTT: added by the first router − by each further one, where "
            "least",
        ),
        Claim(
            "delayed-over-routers",
            "All probes are delayed for at least the configured time (figures 14, 15).",
            "section IV C",
            delayed_over_routers,
            effect="shortest kernel RTT − the configured delays",
        ),
    )
}
