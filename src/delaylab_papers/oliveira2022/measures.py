"""Quantities of oliveira2022's claims: what each measures, scenario by scenario.

Virtualisation overhead is the RTT in user space less that at the sender's host interface. Its share
of the RTT is given over the way that was measured and over the paper's (`balance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from delaylab_study.papers.toolkit import (
    Floats,
    Group,
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
)

from .balance import (
    CONTAINERS,
    DOCKER,
    FASTEST,
    HELD,
    KVM,
    LOADS,
    LXC,
    NETWORK,
    OVER_RTT,
    OVER_WAY,
    OVERHEAD,
    PLACES,
    RTT,
    SLOW,
    VIRTIO,
    alike,
    loading,
    of,
    run,
    together,
    under_every_load,
    vms,
)
from .published import AFFINITY, OVERHEAD_SHARE, OVERHEAD_US

PUBLISHED_OVERHEAD_US = 10.0
CPUS_TO_PIN = 4
WITH_AFFINITY = "one for each main guest, and as many for the background as without affinity"
SHARES = (OVER_RTT, OVER_WAY)
Measure = Callable[[list[Group]], Iterator[Measured]]
median_shift = of_medians(lambda ours, theirs: ours - theirs)
median_ratio = of_medians(lambda ours, theirs: ours / theirs)
median_change = of_medians(lambda ours, theirs: ours / theirs - 1)
_middle = of_medians(lambda median: median)


def other_cards(card: str, name: str, sign: int) -> Measure:
    """Return a measure: the distance of a card from every other one, in scenarios that all have.

    The quantity is the median of `name`. With sign 1 it is the other card's less this card's, with
    -1 this card's less the other's. Of `OVER_WAY`, the share over the way here is shown aside.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        same = alike(of(groups, KVM), "environment", KVM)
        for each in (name, OVER_RTT) if name == OVER_WAY else (name,):
            ours = together(same.get(card, []), each)
            for other in same:
                theirs = together(same[other], each)
                if other == card or ours is None or theirs is None:
                    continue
                yield Measured(
                    f"{other}, over the way here" if each == OVER_RTT else other,
                    shift(*((theirs, ours) if sign > 0 else (ours, theirs))),
                    (*same[card], *same[other]),
                    f"{_median(ours, each)} with {card}, {_median(theirs, each)} with {other}, "
                    f"{len(same[card])} scenarios alike",
                    _published_difference(card, other, sign) if each in SHARES else None,
                    aside=each != name,
                )

    return measure


def _published_difference(card: str, other: str, sign: int) -> float | None:
    ours, theirs = OVERHEAD_SHARE.get(card), OVERHEAD_SHARE.get(other)
    return None if ours is None or theirs is None else sign * (theirs - ours)


def overhead_of_cards(cards: Sequence[str]) -> Measure:
    """Return what yields the median share of overhead of some cards, in scenarios that all have.

    The share over the paper's way decides; that over the way here is shown aside.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        same = alike(of(groups, KVM), "environment", KVM)
        for card in cards:
            for name in (OVER_WAY, OVER_RTT):
                values = together(same.get(card, []), name)
                if values is not None:
                    yield Measured(
                        card if name == OVER_WAY else f"{card}, over the way here",
                        estimate([values], _middle),
                        same[card],
                        f"{_median(values, name)} of the RTT, "
                        f"{_median(together(same[card], OVERHEAD) or values, OVERHEAD)}",
                        OVERHEAD_SHARE.get(card),
                        aside=name == OVER_RTT,
                    )

    return measure


def overhead_by_guests(rates: Sequence[str], sign: int) -> Measure:
    """Return what yields by how much virtio's overhead rises with the guests (sign 1), or falls.

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
                    f"{_median(theirs)} without guests, {_median(ours)} with {vms(most)}",
                    sign * (after - before),
                )

    return measure


def moved_by_affinity(name: str, of_both: Statistic) -> Measure:
    """Return what yields by how much affinity moves a quantity, the mean over matched scenarios."""

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
            published if name in SHARES else None,
        )

    return measure


def slow_against_fast(of_both: Statistic) -> Measure:
    """Return what yields QEMU's RTTs at 1 pps against those at each higher rate, by scenario."""

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
                        f"{_median(ours)} at 1pps, {_median(theirs)} at {rate}",
                        aside=rate == HELD,
                    )

    return measure


def responder_against_others(
    of_both: Statistic, name: str = RTT, loads: Sequence[str] = LOADS, *, less: bool = False
) -> Measure:
    """Return what yields a quantity under network load at the responder against other loads.

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
                f"{_median(theirs, name)} there, {_median(ours, name)} under network at the "
                "responder",
            )

    return measure


def climb(environment: str) -> Measure:
    """Return what yields a container's median RTT with the most guests over that with the fewest.

    The trials are those at 1 Mpps under CPU load at the sender.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        chosen = pick(groups, environment=environment, load="cpu", place="sender", rate=FASTEST)
        counted = {
            vms(group): group
            for group in [group for group in chosen if run(group, RTT) is not None]
        }
        if len(counted) < 2:
            return
        few, most = min(counted), max(counted)
        ends = [run(counted[most], RTT), run(counted[few], RTT)]
        known = [values for values in ends if values is not None]
        yield Measured(
            f"{environment}, {few} to {most} guests",
            estimate(known, median_ratio),
            (counted[most], counted[few]),
            f"{_median(known[1])} with {few}, {_median(known[0])} with {most}",
        )

    return measure


def lxc_against_docker(
    of_both: Statistic, rates: Sequence[str], unit: str, *, turned: bool = False
) -> Measure:
    """Return what yields LXC's RTTs against Docker's in scenarios that both have.

    `turned` is Docker's against LXC's.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        both = matched(of(groups, CONTAINERS), "environment", CONTAINERS)
        for lxc, docker in zip(both[LXC], both[DOCKER], strict=True):
            rate = lxc.factors.get("rate")
            ours, theirs = run(lxc, RTT), run(docker, RTT)
            if ours is None or theirs is None or rate not in (*rates, HELD):
                continue
            effect = estimate([theirs, ours] if turned else [ours, theirs], of_both)
            yield Measured(
                label(lxc, "vms", "load", "place", "rate"),
                effect,
                (lxc, docker),
                f"{_median(ours)} with lxc, {_median(theirs)} with docker; "
                f"{amount(effect.value, unit)}",
                aside=rate == HELD,
            )

    return measure


def lxc_at_high_rate(groups: list[Group]) -> Iterator[Measured]:
    """Yield the spread of LXC's RTTs at 1 Mpps over that at 1 kpps, in scenarios that both have."""
    both = matched(of(groups, (LXC,)), "rate", ("1kpps", FASTEST))
    for slower, fast in zip(both["1kpps"], both[FASTEST], strict=True):
        ours, theirs = run(fast, RTT), run(slower, RTT)
        if ours is not None and theirs is not None:
            effect = estimate([ours, theirs], quartile_ratio)
            words = f"{effect.value:.2f} times as far apart"
            yield Measured(label(fast, "vms", "load", "place"), effect, (fast, slower), words)


def container_overhead(groups: list[Group]) -> Iterator[Measured]:
    """Yield the median overhead of containers, but for LXC's climb."""
    for group in of(groups, CONTAINERS):
        values = run(group, OVERHEAD)
        if values is not None and not _is_the_climb(group):
            yield Measured(
                group.label,
                estimate([values], _middle),
                (group,),
                _median(values),
                PUBLISHED_OVERHEAD_US,
                aside=group.factors.get("rate") == HELD,
            )


def moved_by_io(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much I/O load moves the median RTT with QEMU, by scenario."""
    alone = ("environment", "affinity", "rate")
    none = {label(g, *alone): g for g in pick(of(groups, KVM), vms="0")}
    for group in (g for g in pick(of(groups, KVM), load="io") if vms(g) > 0):
        rest = none.get(label(group, *alone))
        ours, theirs = run(group, RTT), run(rest, RTT) if rest else None
        if rest is not None and ours is not None and theirs is not None:
            effect = estimate([ours, theirs], median_change)
            yield Measured(group.label, effect, (group, rest), amount(effect.value, "share"))


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


def _is_the_climb(group: Group) -> bool:
    return group.factors.get("environment") == LXC and (
        label(group, "load", "place", "rate") == f"cpu, sender, {FASTEST}"
    )


def _median(values: Run, name: str = RTT) -> str:
    return median_in_words(values, "share" if name in SHARES else "µs")
