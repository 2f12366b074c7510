"""vem2006's claims on the latency of virtual routers, section IV B.

RTTs are from the kernel's stamp on sending to that on receipt. The probe shares a CPU with the
generator, and its waiting there has nothing to do with routers. (The paper stamps in the
application that sends, and by tcpdump on receipt.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from delaylab_study.papers.toolkit import (
    ENOUGH,
    Claim,
    Criterion,
    Effect,
    Floats,
    Group,
    Measured,
    Run,
    Source,
    Statistic,
    above,
    at_least,
    at_most,
    estimate,
    estimate_of_few,
    in_words,
    no_more_than,
    of_medians,
    pick,
    runs,
    whole,
)

from .searches import (
    CARRIED,
    DELAYED,
    HOST,
    PLAIN,
    SEARCHES,
    Setting,
    first_and_most,
    of_settings,
    setting,
)

B = "section IV B"
HARDLY = 0.25
"""Limit for "more or less constant" and "more or less unchanged", ours: a quarter of the latency of
one router. The paper's own pings have a standard deviation of 9 to 15 % of their mean (figures 16
and 17)."""
SAME = 0.1
"""Limit for "the same amount of latency", ours: a tenth, as much as those standard deviations."""
ADDED_US = 70.0
"""Limit for what a delay adds beyond itself. In figures 16 and 17 the shortest delays of 0.1 and
1 ms are at most 0.068 ms longer than the delay and the shortest without one."""
REST, HIGHEST = "rest", "100pct"
LARGE = "1450"
FIRST = "1st"
"""Level of factor `over` at which the probe's packets take the first router."""
RTT = "stack"
CONFIGURED_US, STAMPS_US = 1000.0, 1.0
"""Configured delay in µs, round trip: 0.5 ms there and 0.5 ms back. Error of two stamps in µs."""


def over(group: Group) -> str:
    """Return the router that the probe's packets took; older studies had no choice: the first."""
    return group.factors.get("over", FIRST)


def by_router(groups: list[Group], load: str, engine: str = PLAIN) -> dict[Setting, dict[str, Run]]:
    """Return kernel RTTs in µs by setting and router, trial by trial.

    They are those under one load, over one sort of link.
    """
    found: dict[Setting, dict[str, Run]] = {}
    for group in pick(groups, engine=engine, load=load):
        here, values = setting(group), runs(group, RTT)
        if here is not None and values is not None:
            found.setdefault(here, {})[over(group)] = values
    return found


def delays(groups: list[Group], load: str, engine: str = PLAIN) -> dict[Setting, Run]:
    """Return kernel RTTs in µs over the first router, by setting (see `by_router`)."""
    found = by_router(groups, load, engine)
    return {one: rtts[FIRST] for one, rtts in found.items() if FIRST in rtts}


def grown_at_rest(groups: list[Group]) -> Iterator[Measured]:
    """Yield the change of the median RTT at rest from the only router to one of many."""
    return _grown(groups, REST)


def grown_of_large(groups: list[Group]) -> Iterator[Measured]:
    """Yield the same of large packets at the rate held, which differs with the routers."""
    large = [group for group in groups if group.factors.get("size") == LARGE]
    return _grown(large, HIGHEST)


def _grown(groups: list[Group], load: str) -> Iterator[Measured]:
    rtts = delays(groups, load)
    for one, most in first_and_most(rtts):
        effect = estimate([rtts[one], rtts[most]], _change)
        name = f"{most.kind}, {one.size} bytes, {most.routers} routers"
        used = _under(groups, load, one, most)
        yield Measured(name, effect, used, f"{effect.value:+.1%}", kinds=(most.kind,))


def other_routers(groups: list[Group]) -> Iterator[Measured]:
    """Yield the change of the median RTT from the first of many routers to another."""
    for load in (REST, HIGHEST):
        for one, rtts in by_router(groups, load).items():
            for router, values in rtts.items():
                if FIRST in rtts and router != FIRST:
                    effect = estimate([rtts[FIRST], values], _change)
                    name = f"{router} of {one.label}, {load}"
                    used = _under(groups, load, one)
                    words = f"{effect.value:+.1%}"
                    yield Measured(name, effect, used, words, kinds=(one.kind,))


def first_adds(groups: list[Group]) -> Iterator[Measured]:
    """Yield the latency under load that the first router adds, less that of each further one."""
    rtts = delays(groups, HIGHEST)
    for one, most in first_and_most(rtts):
        none = replace(one, routers=0, kind=HOST)
        if none in rtts:
            effect = estimate([rtts[none], rtts[one], rtts[most]], _excess(most.routers - 1))
            used = _under(groups, HIGHEST, none, one, most)
            name = f"{most.kind}, {one.size} bytes"
            yield Measured(name, effect, used, in_words(effect.value), kinds=(one.kind,))


def least_delays(groups: list[Group]) -> Iterator[Measured]:
    """Yield the shortest RTT over links that delay it, less the delay configured both ways."""
    for load in dict.fromkeys(group.factors.get("load", "") for group in groups):
        for one, values in delays(groups, load, DELAYED).items():
            rtts_us = whole(values)
            least_us = float(rtts_us.min()) - CONFIGURED_US
            yield Measured(
                f"{one.label}, {load}",
                Effect(least_us, (least_us, least_us)),
                _under(groups, load, one),
                f"{len(rtts_us)} round trips, the shortest took {in_words(least_us)} more",
                kinds=(one.kind,),
            )


def added_beyond(groups: list[Group]) -> Iterator[Measured]:
    """Yield what delays add to the shortest RTT of a trial, less the delay configured both ways.

    The shortest RTT without them is that over links that the engine carries, at the same load.
    """
    for load in dict.fromkeys(group.factors.get("load", "") for group in groups):
        without = delays(groups, load, CARRIED)
        for one, values in delays(groups, load, DELAYED).items():
            base = replace(one, engine=CARRIED)
            if base not in without or min(len(values), len(without[base])) < SEARCHES:
                continue
            shortest = [np.array([trial.min() for trial in run]) for run in (values, without[base])]
            effect = estimate_of_few(shortest, _beyond)
            yield Measured(
                f"{one.label}, {load}",
                effect,
                [*_under(groups, load, one), *_under(groups, load, base)],
                f"{in_words(effect.value)} beyond the delay",
                kinds=(one.kind,),
            )


def _beyond(shortest: list[Floats]) -> Floats:
    delayed, carried = (values.mean(axis=-1) for values in shortest)
    return np.asarray(delayed - carried - CONFIGURED_US)


_change = of_medians(lambda before, after: after / before - 1)


def _excess(more: int) -> Statistic:
    """Return a statistic: latency added by the first router, less that by each of `more`."""
    return of_medians(lambda none, one, most: (one - none) - (most - one) / more)


def _under(groups: list[Group], load: str, *settings: Setting) -> list[Group]:
    return of_settings(pick(groups, load=load), settings)


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "latency-flat-at-rest",
            "At rest latency is more or less constant as routers are added.",
            Source(
                B,
                "There is small increase in the latency of forwarded packets as we add more "
                "virtual routers but overall the latency is more or less constant as we add "
                "more virtual routers for both very small and very large packet sizes.",
                "figure 9",
            ),
            (
                Criterion(
                    "change of the median kernel RTT from the only router to one of many",
                    "share",
                    no_more_than(HARDLY),
                    grown_at_rest,
                    f"RTTs of {ENOUGH} packets at rest, one router and several",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "large-latency-flat-under-load",
            "Under load the latency of large packets is more or less unchanged by more routers.",
            Source(
                B,
                "For large packets latency remains more or less unchanged as we add more routers.",
                "figure 10",
            ),
            (
                Criterion(
                    "change of the median kernel RTT of 1450 bytes at the rate held, from the only "
                    "router to one of many",
                    "share",
                    no_more_than(HARDLY),
                    grown_of_large,
                    f"RTTs of {ENOUGH} packets at the rate held, one router and several",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "latency-same-over-each",
            "All virtual routers introduce the same amount of latency.",
            Source(
                B,
                "Also all virtual routers introduce the same amount of latency.",
                "figures 9 and 10",
            ),
            (
                Criterion(
                    "change of the median kernel RTT from the first router to another",
                    "share",
                    no_more_than(SAME),
                    other_routers,
                    f"RTTs of {ENOUGH} packets over each of two or more routers",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "first-router-adds-latency",
            "Under load the first router adds latency, more routers less so.",
            Source(
                B,
                "It appears that adding even a single virtual router increases the latency "
                "significantly; adding more routers does have a milder effect on the forwarding "
                "latency.",
                "figure 10",
            ),
            (
                Criterion(
                    "median kernel RTT: added by the first router − by each further one",
                    "µs",
                    above(0),
                    first_adds,
                    "RTTs at the rate held over no, one and several routers with own kernels",
                ),
            ),
            about=("forwarding",),
        ),
        Claim(
            "delayed-over-routers",
            "All probes are delayed for at least the configured time, and for little more.",
            Source(
                "section IV C",
                "All the probe packets were delayed for at least the amount we requested. … We "
                "should not forget that NISTnet simply adds the requested delay to the packets it "
                "intercepts.",
                "figures 14 to 17",
            ),
            (
                Criterion(
                    "shortest kernel RTT − the configured delays",
                    "µs",
                    at_least(-STAMPS_US),
                    least_delays,
                    f"RTTs of {ENOUGH} packets over links that delay them",
                ),
                Criterion(
                    "shortest kernel RTT of a trial over links with delays − without, less the "
                    "configured delays",
                    "µs",
                    at_most(ADDED_US),
                    added_beyond,
                    f"{SEARCHES} trials over links {CARRIED} and {DELAYED}, at the same load",
                ),
            ),
            about=("link",),
        ),
    )
}
