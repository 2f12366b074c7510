"""Quantities of oliveira2022's claims: what each measures, scenario by scenario.

Virtualisation overhead is the RTT in user space less that at the sender's host interface. Its share
of the RTT is given over the way that was measured and over the paper's (`balance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from delaylab_study.papers.toolkit import (
    Floats,
    Group,
    Measure,
    Measured,
    Run,
    Statistic,
    amount,
    estimate,
    label,
    last_axis_quantiles,
    matched,
    median_in_words,
    need_cpus,
    of_medians,
    pick,
    shift,
    whole,
)

from .balance import (
    FASTEST,
    HELD,
    KVM,
    LOADS,
    NETWORK,
    OVER_RTT,
    OVERHEAD,
    PLACES,
    RTT,
    SLOW,
    VIRTIO,
    WAY,
    alike,
    loading,
    of,
    run,
    together,
    under_every_load,
    vms,
    with_rest,
)
from .published import (
    AFFINITY,
    OVERHEAD_SHARE,
    OVERHEAD_US,
    WAY_US,
)

CPUS_TO_PIN = 4
WITH_AFFINITY = "one for each main guest, and as many for the background as without affinity"
LIKE_THE_PAPERS = 0.2
"""Limit for a way like the paper's: its median RTT at most this share apart. The paper's follows
from two of its medians. A share of 25 % would be 22 to 29 % over ways that differ by so much."""
median_shift = of_medians(lambda ours, theirs: ours - theirs)
median_ratio = of_medians(lambda ours, theirs: ours / theirs)
median_change = of_medians(lambda ours, theirs: ours / theirs - 1)
middle = of_medians(lambda median: median)


def other_cards(card: str, name: str, sign: int) -> Measure:
    """Return a measure: the distance of a card from every other one, in scenarios that all have.

    The quantity is the median of `name`. With sign 1 it is the other card's less this card's, with
    -1 this card's less the other's.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        same = alike(of(groups, KVM), "environment", KVM)
        ours = together(same.get(card, []), name)
        for other in same:
            theirs = together(same[other], name)
            if other == card or ours is None or theirs is None:
                continue
            yield Measured(
                other,
                shift(*((theirs, ours) if sign > 0 else (ours, theirs))),
                (*same[card], *same[other]),
                f"{median_said(ours, name)} with {card}, {median_said(theirs, name)} with {other}, "
                f"{len(same[card])} scenarios alike",
            )

    return measure


def overhead_of_cards(cards: Sequence[str]) -> Measure:
    """Return a measure of the median share of overhead of some cards, in scenarios that all have.

    A card decides if the way behind the host's interface takes as long as the paper's: a share of
    the RTT depends on it as much as on the card.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        same = alike(of(groups, KVM), "environment", KVM)
        for card in cards:
            values, way = (together(same.get(card, []), name) for name in (OVER_RTT, WAY))
            if values is not None and way is not None:
                middle_us = float(np.median(whole(way)))
                yield Measured(
                    card,
                    estimate([values], middle),
                    same[card],
                    f"{median_said(values, OVER_RTT)} of the RTT, over a way of {median_said(way)}",
                    OVERHEAD_SHARE.get(card),
                    aside=abs(middle_us / WAY_US - 1) > LIKE_THE_PAPERS,
                )

    return measure


def overhead_by_guests(rates: Sequence[str], sign: int) -> Measure:
    """Return a measure of the change of virtio's overhead with the guests: its rise with sign 1.

    It compares most guests under network load at the responder with none.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for rate in rates:
            chosen = pick(of(groups, (VIRTIO,)), rate=rate, affinity="off")
            none = [group for group in chosen if vms(group) == 0]
            loaded = {
                vms(group): group
                for group in [group for group in chosen if loading(group) == NETWORK]
            }
            if not none or not loaded:
                continue
            most = loaded[max(loaded)]
            ours, theirs = run(most, OVERHEAD), run(none[0], OVERHEAD)
            if ours is not None and theirs is not None:
                before, after = OVERHEAD_US[rate]
                yield Measured(
                    rate,
                    shift(*((ours, theirs) if sign > 0 else (theirs, ours))),
                    (most, none[0]),
                    f"{median_said(theirs)} without guests, {median_said(ours)} with {vms(most)}",
                    sign * (after - before),
                )

    return measure


def moved_by_affinity(name: str, of_both: Statistic) -> Measure:
    """Return a measure of the change of a quantity by affinity, the mean over matched scenarios."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        need_cpus(groups, CPUS_TO_PIN, WITH_AFFINITY)
        both = matched(of(groups, KVM), "affinity", ("on", "off"))
        pairs = [
            (on, off)
            for on, off in zip(both["on"], both["off"], strict=True)
            if run(on, name) is not None and run(off, name) is not None
        ]
        if not pairs:
            return
        median = 4
        published = (AFFINITY["on"][median] - AFFINITY["off"][median]) / 100
        used = [group for pair in pairs for group in pair]
        known = [values for group in used if (values := run(group, name)) is not None]
        effect = estimate(known, _mean_of_pairs(of_both))
        yield Measured(
            f"mean of {len(pairs)} scenarios alike",
            effect,
            used,
            amount(effect.value, "share"),
            published if name == OVER_RTT else None,
        )

    return measure


def slow_against_fast(of_both: Statistic) -> Measure:
    """Return a measure of QEMU's RTTs at 1 pps against those at each higher rate, by scenario."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for rate in ("1kpps", FASTEST, HELD):
            both = matched(of(groups, KVM), "rate", (SLOW, rate))
            for slow, fast in zip(both[SLOW], both[rate], strict=True):
                ours, theirs = run(slow, RTT), run(fast, RTT)
                if ours is not None and theirs is not None:
                    yield Measured(
                        label(fast, "environment", "vms", "load", "place", "affinity", "rate"),
                        estimate([ours, theirs], of_both),
                        (slow, fast),
                        f"{median_said(ours)} at 1pps, {median_said(theirs)} at {rate}",
                        aside=rate == HELD,
                    )

    return measure


def responder_against_others(
    of_both: Statistic, name: str = RTT, loads: Sequence[str] = LOADS, *, less: bool = False
) -> Measure:
    """Return a measure of a quantity under network load at the responder against other loads.

    It is that of QEMU's guests. With `less` it is that under the other load against it.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        loaded = under_every_load(of(groups, KVM))
        ours_in = [group for group in loaded if loading(group) == NETWORK]
        ours = together(ours_in, name)
        for load, place in ((load, place) for load in loads for place in PLACES):
            theirs_in = [group for group in loaded if loading(group) == (load, place)]
            theirs = together(theirs_in, name)
            if (load, place) == NETWORK or ours is None or theirs is None:
                continue
            yield Measured(
                f"{load} at the {place}",
                estimate([theirs, ours] if less else [ours, theirs], of_both),
                (*ours_in, *theirs_in),
                f"{median_said(theirs, name)} there, {median_said(ours, name)} under network "
                "at the responder",
            )

    return measure


def moved_by_io(environments: Sequence[str]) -> Measure:
    """Return a measure of the change of the median RTT by I/O load, by scenario."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for group, rest in with_rest(of(groups, environments)):
            ours, theirs = run(group, RTT), run(rest, RTT)
            if group.factors.get("load") == "io" and ours is not None and theirs is not None:
                effect = estimate([ours, theirs], median_change)
                yield Measured(group.label, effect, (group, rest), amount(effect.value, "share"))

    return measure


def quartile_ratio(both: list[Floats]) -> Floats:
    """Return the distance of the quartiles of the first series over that of the second."""
    ours, theirs = (_quartiles(values) for values in both)
    return np.asarray(ours / theirs)


def _mean_of_pairs(of: Statistic) -> Statistic:
    """Return a statistic: the mean over pairs of neighbouring series of another statistic."""

    def mean(series: list[Floats]) -> Floats:
        pairs = zip(series[::2], series[1::2], strict=True)
        return np.asarray(np.mean([of([ours, theirs]) for ours, theirs in pairs], axis=0))

    return mean


def _quartiles(values: Floats) -> Floats:
    low, high = last_axis_quantiles(values, (0.25, 0.75))
    return np.asarray(high - low)


def median_said(values: Run, name: str = RTT) -> str:
    """Return the median of a quantity in words."""
    return median_in_words(values, "share" if name == OVER_RTT else "µs")
