"""Quantities of oliveira2022's claims: what each measures, scenario by scenario.

Virtualisation overhead is the RTT in user space less that at the sender's host interface, in µs or
as a share of the RTT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from delaylab.analysis.claims.claim import Measured, NotTestable
from delaylab.analysis.claims.groups import (
    SHARE,
    by_vms,
    label,
    matched,
    pick,
    pooled,
    samples,
    series,
    vms,
)
from delaylab.analysis.claims.words import amount, in_words
from delaylab.analysis.group import Group
from delaylab.analysis.packets.outliers import robust_scale
from delaylab.analysis.statistics.effects import Effect, estimate, shift
from delaylab.analysis.statistics.quantiles import Floats, last_axis_quantiles
from delaylab.analysis.statistics.shares import wilson
from delaylab.papers.oliveira2022.published import AFFINITY, OUTLIERS, OVERHEAD_SHARE

VIRTIO, RTL8139 = "kvm-virtio", "kvm-rtl8139"
KVM = (VIRTIO, "kvm-vmxnet3", "kvm-e1000", RTL8139)
LXC, DOCKER = "lxc", "docker"
CONTAINERS = (LXC, DOCKER)
FASTEST = "1Mpps"
PUBLISHED_OVERHEAD_US = 10.0
CPUS_TO_PIN = 4
"""CPUs that affinity takes: one for each main guest, and as many for the background as without."""
Measure = Callable[[list[Group]], Iterator[Measured]]
Statistic = Callable[[list[Floats]], Floats]


def other_cards(card: str, name: str, sign: int) -> Measure:
    """Return what yields a card's distance from each other card, scenarios matched.

    The quantity is the median of `name`, `app` or `SHARE`. With sign 1 it is the other card's less
    this card's, with -1 this card's less the other's.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        present = [kind for kind in KVM if pick(groups, environment=kind)]
        if card not in present:
            return
        alike = matched(groups, "environment", present)
        ours = pooled(alike[card], name)
        for other in present:
            theirs = pooled(alike[other], name)
            if other == card or ours is None or theirs is None:
                continue
            pair = (theirs, ours) if sign > 0 else (ours, theirs)
            shares = OVERHEAD_SHARE.get(other), OVERHEAD_SHARE.get(card)
            known = name == SHARE and None not in shares
            yield Measured(
                other,
                shift(*pair),
                (*alike[card], *alike[other]),
                f"{_median(ours, name)} with {card}, {_median(theirs, name)} with {other}, "
                f"{len(alike[card])} scenarios alike",
                sign * ((shares[0] or 0) - (shares[1] or 0)) if known else None,
            )

    return measure


def moved_by_affinity(name: str, of: Statistic) -> Measure:
    """Return what yields by how much affinity moves a quantity, the mean over matched scenarios."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        _need_cpus(groups)
        both = matched(_kvm(groups), "affinity", ("on", "off"))
        pairs = [
            (on, off)
            for on, off in zip(both["on"], both["off"], strict=True)
            if series(on, name) is not None and series(off, name) is not None
        ]
        if not pairs:
            return
        median = 4
        published = (AFFINITY["on"][median] - AFFINITY["off"][median]) / 100
        used = [group for pair in pairs for group in pair]
        known = [values for group in used if (values := series(group, name)) is not None]
        effect = estimate(known, _mean_of_pairs(of))
        yield Measured(
            f"mean of {len(pairs)} scenarios alike",
            effect,
            used,
            amount(effect.value, "share"),
            published if name == SHARE else None,
        )

    return measure


def slow_against_fast(of: Statistic) -> Measure:
    """Return what yields QEMU's RTTs at 1 pps against those at each higher rate, by scenario."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for rate in ("1kpps", FASTEST):
            both = matched(_kvm(groups), "rate", ("1pps", rate))
            for slow, fast in zip(both["1pps"], both[rate], strict=True):
                ours, theirs = samples(slow, "app"), samples(fast, "app")
                if ours is not None and theirs is not None:
                    yield Measured(
                        label(fast, "environment", "vms", "load", "place", "affinity", "rate"),
                        estimate([ours, theirs], of),
                        (slow, fast),
                        f"{_median(ours)} at 1pps, {_median(theirs)} at {rate}",
                    )

    return measure


def responder_against_others(of: Statistic) -> Measure:
    """Return what yields QEMU's RTTs under network load at the responder against other loads."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        loaded = [g for g in _kvm(groups) if vms(g) > 0]
        ours = _alike(loaded, "network", "responder")
        values = pooled(ours, "app")
        for load in ("cpu", "io", "network"):
            for place in ("sender", "responder"):
                theirs = _alike(loaded, load, place)
                other = pooled(theirs, "app")
                if (load, place) == ("network", "responder") or values is None or other is None:
                    continue
                yield Measured(
                    f"{load} at the {place}",
                    estimate([values, other], of),
                    (*ours, *theirs),
                    f"{_median(other)} there, {_median(values)} under network at the responder",
                )

    return measure


def climb(environment: str) -> Measure:
    """Return what yields a container's median RTT with the most guests over that with the fewest.

    The trials are those at 1 Mpps under CPU load at the sender.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        chosen = pick(groups, environment=environment, load="cpu", place="sender", rate=FASTEST)
        counted = by_vms([g for g in chosen if samples(g, "app") is not None])
        if len(counted) < 2:
            return
        few, most = min(counted), max(counted)
        ends = [samples(counted[most], "app"), samples(counted[few], "app")]
        known = [values for values in ends if values is not None]
        yield Measured(
            f"{environment}, {few} to {most} guests",
            estimate(known, median_ratio),
            (counted[most], counted[few]),
            f"{_median(known[1])} with {few}, {_median(known[0])} with {most}",
        )

    return measure


def wider_than_docker(groups: list[Group]) -> Iterator[Measured]:
    """Yield the spread of LXC's RTTs at 1 Mpps over that of Docker's, scenarios matched."""
    both = matched(pick(groups, rate=FASTEST), "environment", CONTAINERS)
    for lxc, docker in zip(both[LXC], both[DOCKER], strict=True):
        ours, theirs = samples(lxc, "app"), samples(docker, "app")
        if ours is not None and theirs is not None:
            effect = estimate([ours, theirs], quartile_ratio)
            name = label(lxc, "vms", "load", "place")
            yield Measured(name, effect, (lxc, docker), f"{effect.value:.2f} times as far apart")


def container_overhead(groups: list[Group]) -> Iterator[Measured]:
    """Yield the median overhead of containers, but for LXC's climb."""
    for group in groups:
        values = series(group, "overhead")
        if values is None or group.factors.get("environment") not in CONTAINERS:
            continue
        if not _is_the_climb(group):
            effect = estimate([values], lambda s: np.asarray(np.median(s[0], axis=-1)))
            yield Measured(group.label, effect, (group,), _median(values), PUBLISHED_OVERHEAD_US)


def moved_by_io(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much I/O load moves the median RTT with QEMU, by scenario."""
    alone = ("environment", "affinity", "rate")
    none = {label(g, *alone): g for g in pick(_kvm(groups), vms="0")}
    for group in (g for g in pick(_kvm(groups), load="io") if vms(g) > 0):
        rest = none.get(label(group, *alone))
        ours, theirs = samples(group, "app"), samples(rest, "app") if rest else None
        if rest is not None and ours is not None and theirs is not None:
            effect = estimate([ours, theirs], lambda s: median_ratio(s) - 1)
            yield Measured(group.label, effect, (group, rest), amount(effect.value, "share"))


def outliers_at_responder(environments: Sequence[str], published: str) -> Measure:
    """Return what yields the share of outliers that were under network load at the responder.

    An outlier is a user RTT whose modified z-score over all scenarios together is above 3.5.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        known = [
            (group, values)
            for group in groups
            if group.factors.get("environment") in environments
            and (values := samples(group, "app")) is not None
        ]
        there = {(g.factors.get("load"), g.factors.get("place")) for g, _ in known}
        if ("network", "responder") not in there or len(there) < 2:
            return
        scale = robust_scale(np.concatenate([values for _, values in known]))
        flags = [
            np.full(
                int(scale.flags(values).sum()),
                float(bool(pick([group], load="network", place="responder"))),
            )
            for group, values in known
        ]
        found = np.concatenate(flags)
        if len(found) == 0:
            raise NotTestable("needs outliers, and there was none")
        yield Measured(
            f"{len(known)} scenarios",
            Effect(float(found.mean()), wilson(float(found.mean()), len(found))),
            [group for group, _ in known],
            f"{int(found.sum())} of {len(found)} outliers",
            OUTLIERS[published]["network", "responder"] / 100,
        )

    return measure


def median_shift(both: list[Floats]) -> Floats:
    """Return the median of the first series less that of the second."""
    ours, theirs = (np.median(values, axis=-1) for values in both)
    return np.asarray(ours - theirs)


def median_ratio(both: list[Floats]) -> Floats:
    """Return the median of the first series over that of the second."""
    ours, theirs = (np.median(values, axis=-1) for values in both)
    return np.asarray(ours / theirs)


def median_change(both: list[Floats]) -> Floats:
    """Return the median of the first series over that of the second, less 1."""
    return np.asarray(median_ratio(both) - 1)


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


def _need_cpus(groups: Sequence[Group]) -> None:
    """Raise NotTestable if affinity would take CPU away from what it is compared with."""
    known = [group.machine.cpus for group in groups if group.machine.cpus is not None]
    if known and min(known) < CPUS_TO_PIN:
        raise NotTestable(
            f"needs {CPUS_TO_PIN} CPUs: one for each main guest, and as many for the background as "
            f"without affinity; this machine has {min(known)}"
        )


def _kvm(groups: list[Group]) -> list[Group]:
    return [g for g in groups if g.factors.get("environment") in KVM]


def _alike(groups: list[Group], load: str, place: str) -> list[Group]:
    """Return the groups under one load at one place, for which all loads have matching groups.

    Groups match if they have the same level of `environment`, `vms` and `rate`.
    """
    return [
        g
        for g in pick(groups, load=load, place=place)
        if all(
            any(
                other.factors["load"] == each
                and all(other.factors[f] == g.factors[f] for f in ("environment", "vms", "rate"))
                for other in groups
            )
            for each in ("cpu", "network")
        )
    ]


def _is_the_climb(group: Group) -> bool:
    return group.factors.get("environment") == LXC and (
        label(group, "load", "place", "rate") == f"cpu, sender, {FASTEST}"
    )


def _median(values: Floats, name: str = "app") -> str:
    middle = float(np.median(values))
    return amount(middle, "share") if name == SHARE else in_words(middle)
