"""Quantities of vem2006's claims on throughput, sections IV B, IV C, VI A and VIII."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

import numpy as np

from delaylab_study.papers.toolkit import (
    Effect,
    Floats,
    Group,
    Load,
    Measure,
    Measured,
    amount,
    estimate_of_few,
    mean_of_few,
    pick,
)

from ..published import BY_TEN_ROUTERS, FORWARDED, OVERLOADED
from .searches import (
    DELAYED,
    HOST,
    MOST_LOST,
    PLAIN,
    SEARCHES,
    Setting,
    Shares,
    arrived,
    first_and_most,
    frames_loads,
    furthest,
    known,
    lost_frames,
    of_settings,
    ratio,
    searches,
    typical,
)

SMALLEST, LARGEST = 64, 1450
TEN, ABOUT = 10, 0.6
"""Routers of the paper's "about 60%" of plain Linux."""
FIRST_TAKES, EACH_TAKES = (
    1 - OVERLOADED[0] / FORWARDED[SMALLEST],
    (1 - BY_TEN_ROUTERS[0] / OVERLOADED[0]) / (TEN - 1),
)
"""Shares of the throughput of 64 bytes that the first router and each further one take: of Linux's
380 000 frames/s one leaves 100 000, and ten at least 85 000."""
OVERLOADS = {"150pct": (1.2, 1), "300pct": (2.4, 2)}
"""Levels of factor `load` with more than is held, with the times the rate held that the generator
must send, and the place of the paper's number in `OVERLOADED`. The paper does not say how much it
offers; these are ours."""


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
                FIRST_TAKES - EACH_TAKES if one.size == SMALLEST else None,
                kinds=(one.kind,),
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
                kinds=(kind,),
            )


def _takes_more_of_small(series: list[Floats]) -> Floats:
    none_small, one_small, none_large, one_large = (typical(rates) for rates in series)
    return np.asarray(one_large / none_large - one_small / none_small)


def share_of_capacity(groups: list[Group]) -> Iterator[Measured]:
    """Yield, over plain links, how far a router is from its share of what arrives under overload.

    At a rate that is held everything arrives, whatever the routers do, so such bursts tell nothing.
    """
    return _shared(pick(groups, engine=PLAIN), arrived)


def share_with_emulation(groups: list[Group]) -> Iterator[Measured]:
    """Yield the same over links that the engine carries, with conditions or without."""
    return _shared([g for g in groups if g.factors.get("engine") != PLAIN], arrived)


def share_of_losses(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setting, how far a router is from an equal part of the frames lost."""
    return _shared(groups, lost_frames, MOST_LOST)


def _shared(groups: list[Group], of: Shares, most_lost: float = 1.0) -> Iterator[Measured]:
    for one, found in searches(groups).items():
        effect = furthest(found, of, most_lost)
        if effect is not None:
            words = f"the router furthest off is off by {effect.value:.1%}"
            used = of_settings(groups, (one,))
            yield Measured(one.label, effect, used, words, 0.0, kinds=(one.kind,))


def costs(
    without: str,
    configured: str,
    published: float | None = -0.1,
    *,
    size: int | None = None,
    routers: Collection[int] | None = None,
) -> Measure:
    """Return a measure of the change of throughput by one sort of link in place of another.

    With `size` and `routers`, only of frames of that size, and over one of those numbers of
    routers.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        rates = known(searches(groups))
        for one in rates:
            other = replace(one, engine=configured)
            meant = size in (None, one.size) and (routers is None or one.routers in routers)
            if meant and one.engine == without and other in rates:
                times = ratio(rates[other], rates[one])
                change = Effect(times.value - 1, (times.interval[0] - 1, times.interval[1] - 1))
                name = f"{one.routers} × {one.kind}, {one.size} bytes"
                used = of_settings(groups, (one, other))
                words = amount(change.value, "share")
                yield Measured(name, change, used, words, published, kinds=(one.kind,))

    return measure


def of_plain_linux(groups: list[Group]) -> Iterator[Measured]:
    """Yield what ten routers forward of large frames with emulation, over what one stack does."""
    rates = known(searches(groups))
    none = Setting(0, HOST, LARGEST, PLAIN)
    for one in rates:
        if none in rates and (one.routers, one.size, one.engine) == (TEN, LARGEST, DELAYED):
            times = ratio(rates[one], rates[none])
            words = f"{amount(times.value, 'share')} of what plain Linux forwards"
            used = of_settings(groups, (none, one))
            yield Measured(one.kind, times, used, words, ABOUT, kinds=(one.kind,))


def left_by_overload(level: str) -> Measure:
    """Return a measure of what one router forwards of 64 bytes under overload, over the rate held.

    It is what the receiver counts while frames are sent: queues go on to drain afterwards.
    """
    times, place = OVERLOADS[level]
    published = OVERLOADED[place] / OVERLOADED[0]

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for group in pick(groups, routers="1", size=str(SMALLEST), engine=PLAIN, load=level):
            left = [
                sum(flow.received_per_s or 0.0 for flow in load.flows) / load.rate.frames_per_s
                for trial in group.trials
                for load in frames_loads(trial)
                if load.rate is not None and _sent_more(load, times)
            ]
            if len(left) >= SEARCHES:
                effect = mean_of_few(np.array(left))
                words = f"{amount(effect.value, 'share')} of the rate held arrives"
                kind = group.factors["kind"]
                yield Measured(kind, effect, (group,), words, published, kinds=(kind,))

    return measure


def _sent_more(load: Load, times: float) -> bool:
    """Return True if the generator sent at least this many times the rate that is held."""
    held = load.rate.frames_per_s if load.rate is not None else math.inf
    known = all(flow.received_per_s is not None for flow in load.flows)
    return known and load.achieved["sent_per_s"] >= times * held
