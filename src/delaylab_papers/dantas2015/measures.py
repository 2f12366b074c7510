"""Quantities of dantas2015's claims: what each measures, scenario by scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from delaylab_study.papers.toolkit import (
    Effect,
    Floats,
    Group,
    Measure,
    Measured,
    NotTestable,
    Run,
    by_repeat,
    estimate,
    half_width,
    in_words,
    label,
    matched,
    median_in_words,
    need_cpus,
    number,
    of_medians,
    pick,
    runs,
    shift,
    whole,
    wilson,
)

from .published import TABLE

SLOW, FAST = "1Hz", "1000Hz"
SHARED, RESERVED = "shared", "reserved"
NO_IMPACT = 0.15
"""Limit for "no impact at all": the paper calls its own differences so, which are 1 % to 11 %, of
medians of 100 packets each."""
LIMITED = 0.25
"""Limit for "insensitive", "unaffected" and "does not affect": a quarter."""
CUT_IN_HALF = 0.5
SIGNIFICANTLY = 2.0
"""Limit for "increases significantly". The limit is ours."""
BELOW_US, BEYOND_US = 1_000.0, 100_000.0
"""Limits for "from less than 1ms to more than 100ms", means without load and with it."""
TREND_FROM = 8
"""Number of background VMs from which the paper sees a trend."""
ABOVE_NIC = 0.8
"""Limit for "little or no increase" at the host's NIC: this share of the growth lies above it."""
E1000_US = 20_000.0
"""Limit for e1000's "average RTT below 20ms throughout the graph"."""
VIRTIO_US, VIRTIO_OFF_US = 120_000.0, 10_000.0
"""Virtio's average RTT with 128 VMs, and what it may be off: half a step of the figure's scale."""
MOST_VMS, MANY_VMS = 128, 64
OUTLIER_US = 100_000.0
MOST = 0.5
"""Limit for "most" and "mainly"."""
CPUS_TO_RESERVE = 4
WITH_RESERVATION = (
    "a core for each measuring machine, and as many for the background as without reservation"
)


def vms(group: Group) -> int:
    """Return the number of background VMs."""
    return number(group, "vms")


def slower_when_rare(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each driver and core, the median RTT at 1 Hz less that at 1000 Hz."""
    for name, slow, fast in _frequencies(groups):
        yield Measured(
            name,
            shift(_rtt(slow), _rtt(fast)),
            (slow, fast),
            f"{median_in_words(_rtt(slow))} at 1 Hz, {median_in_words(_rtt(fast))} at 1000 Hz",
            1000 * (_published(slow) - _published(fast)),
        )


def fast_share(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each driver and core, the median RTT at 1000 Hz as a share of that at 1 Hz."""
    for name, slow, fast in _frequencies(groups):
        yield Measured(
            name,
            estimate([_rtt(fast), _rtt(slow)], _ratio),
            (slow, fast),
            published=_published(fast) / _published(slow),
        )


def moved_by_reservation(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much reserving a core moves the median RTT without load."""
    need_cpus(groups, CPUS_TO_RESERVE, WITH_RESERVATION)
    both = matched(pick(groups, vms="0"), "core", (RESERVED, SHARED))
    for reserved, shared in zip(both[RESERVED], both[SHARED], strict=True):
        if _has(reserved) and _has(shared):
            yield Measured(
                label(shared, "driver", "frequency"),
                estimate([_rtt(reserved), _rtt(shared)], _change),
                (reserved, shared),
                f"{median_in_words(_rtt(reserved))} reserved, "
                f"{median_in_words(_rtt(shared))} shared",
                _published(reserved) / _published(shared) - 1,
            )


def cpu_growth(frequency: str, core: str, least: int = 0) -> Measure:
    """Return a measure of the change of the median RTT by CPU load at the sender, by driver.

    It is that from `least` VMs, 0 for none, to the most that ran.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        if core == RESERVED:
            need_cpus(groups, CPUS_TO_RESERVE, WITH_RESERVATION)
        chosen = pick(_against_none(groups, "cpu", "sender"), core=core, frequency=frequency)
        for driver in dict.fromkeys(group.factors["driver"] for group in chosen):
            ends = _ends(pick(chosen, driver=driver), least)
            if ends is not None:
                few, most = ends
                yield Measured(
                    driver,
                    estimate([_rtt(most), _rtt(few)], _change),
                    ends,
                    f"{median_in_words(_rtt(few))} with {vms(few) or 'no'} VMs, "
                    f"{median_in_words(_rtt(most))} with {vms(most)}",
                )

    return measure


def drivers_under_cpu_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield how far apart the factors are by which CPU load changes virtio's RTT and e1000's."""
    for frequency in (SLOW, FAST):
        chosen = pick(_against_none(groups, "cpu", "sender"), core=SHARED, frequency=frequency)
        ends = [_ends(pick(chosen, driver=driver), 0) for driver in ("virtio", "e1000")]
        known = [each for each in ends if each is not None]
        if len(known) == len(ends):
            of = [group for few, most in known for group in (most, few)]
            effect = estimate([_rtt(group) for group in of], _changes_apart)
            yield Measured(frequency, effect, of, f"{effect.value:+.1%}")


def sender_over_receiver(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much CPU load at the sender raises the RTT more than at the receiver.

    Only where it raises the RTT at the sender: at 1000 Hz, without reservation.
    """
    chosen = pick(groups, load="cpu", core=SHARED, frequency=FAST)
    both = matched(chosen, "place", ("sender", "receiver"))
    for sender, receiver in zip(both["sender"], both["receiver"], strict=True):
        if _has(sender) and _has(receiver) and vms(sender) > 0:
            yield Measured(
                label(sender, "vms", "driver", "core", "frequency"),
                shift(_rtt(sender), _rtt(receiver)),
                (sender, receiver),
                f"{median_in_words(_rtt(sender))} with the load at the sender, "
                f"{median_in_words(_rtt(receiver))} at the receiver",
            )


def typical_network_ratio(groups: list[Group]) -> Iterator[Measured]:
    """Yield the median RTT under network load over that without, for every configuration."""
    for group, rest in _beside_none(groups, "network"):
        if _has(group) and _has(rest):
            effect = estimate([_rtt(group), _rtt(rest)], _ratio)
            yield Measured(_named(group), effect, (group, rest), f"{effect.value:.1f} times")


def mean_under_network(groups: list[Group]) -> Iterator[Measured]:
    """Yield the mean RTT under network load where it is below 1 ms without load."""
    for group, rest in _beside_none(groups, "network"):
        if _has(group) and _has(rest) and float(whole(_rtt(rest)).mean()) < BELOW_US:
            words = f"{_mean(_rtt(rest))} without load, {_mean(_rtt(group))} with it"
            yield Measured(_named(group), estimate([_rtt(group)], _means), (group, rest), words)


def growth_above_nic(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the RTT's growth that lies above the sender's host interface.

    Only network load at the sender with the most VMs counts, and only where the RTT grows.
    """
    for group, rest in _beside_none(pick(groups, place="sender"), "network"):
        if vms(group) != _most(groups, "network"):
            continue
        found = [runs(each, name) for name in ("app", "uplink") for each in (group, rest)]
        known = [values for values in found if values is not None]
        if len(known) < 4 or shift(known[0], known[1]).interval[0] <= 0:
            continue
        yield Measured(
            _named(group),
            estimate(known, _above),
            (group, rest),
            f"user RTT {median_in_words(known[1])} to {median_in_words(known[0])}, "
            f"at the host's NIC {median_in_words(known[3])} to {median_in_words(known[2])}",
        )


def at_the_bridge(driver: str, least: int) -> Measure:
    """Return a measure of a driver's mean RTT at the sender's bridge, under network load at 1 Hz.

    It does so for each number of VMs from `least` on.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        chosen = pick(groups, load="network", place="sender", core=SHARED, frequency=SLOW)
        for group in pick(chosen, driver=driver):
            values = runs(group, "vif")
            if values is not None and vms(group) >= least:
                published = VIRTIO_US if driver == "virtio" and vms(group) == MOST_VMS else None
                yield Measured(
                    f"{vms(group)} VMs",
                    estimate([values], _means),
                    (group,),
                    _mean(values),
                    published,
                )

    return measure


def moved_by_io(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much I/O load moves the median RTT, for every configuration."""
    for group, rest in _beside_none(groups, "io"):
        if _has(group) and _has(rest):
            effect = estimate([_rtt(group), _rtt(rest)], _change)
            yield Measured(_named(group), effect, (group, rest), f"{effect.value:+.1%}")


def io_by_reservation(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much reserving a core moves the median RTT under I/O load."""
    need_cpus(groups, CPUS_TO_RESERVE, WITH_RESERVATION)
    both = matched(pick(groups, load="io"), "core", (RESERVED, SHARED))
    for reserved, shared in zip(both[RESERVED], both[SHARED], strict=True):
        if _has(reserved) and _has(shared) and vms(shared) > 0:
            effect = estimate([_rtt(reserved), _rtt(shared)], _change)
            name = label(shared, "vms", "place", "driver", "frequency")
            yield Measured(name, effect, (reserved, shared), f"{effect.value:+.1%}")


def outliers_by_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the RTTs above 100 ms that were under network load.

    Raise NotTestable if no RTT was that long, or if there is no other load to compare with.
    """
    if len({_load(group) for group in groups} | {"network"}) > 1 and pick(groups, load="network"):
        yield _outliers(groups, lambda group: _load(group) == "network", "network load")


def outliers_by_vms(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the RTTs above 100 ms under network load that had 64 VMs or more.

    Raise NotTestable if no RTT was that long.
    """
    loaded = pick(groups, load="network")
    counts = {vms(group) for group in loaded}
    if counts and min(counts) < MANY_VMS <= max(counts):
        yield _outliers(loaded, lambda group: vms(group) >= MANY_VMS, f"{MANY_VMS} VMs or more")


def _load(group: Group) -> str:
    return group.factors.get("load", group.load)


def _outliers(groups: list[Group], wanted: Callable[[Group], bool], name: str) -> Measured:
    """Return the share of the RTTs above 100 ms that are in the wanted groups."""
    of_block: dict[int, Counter[bool]] = {}
    for group in groups:
        for repeat, packets in by_repeat(group, "app").items():
            count = int((packets["app"] > OUTLIER_US).sum())
            of_block.setdefault(repeat, Counter())[wanted(group)] += count
    within = sum(block[True] for block in of_block.values())
    total = within + sum(block[False] for block in of_block.values())
    if total == 0:
        raise NotTestable("needs RTTs above 100 ms, and there was none")
    share = within / total
    blocks = [block[True] / block.total() for block in of_block.values() if block.total()]
    low, high = wilson(share, total)
    half = half_width(np.array(blocks))
    return Measured(
        f"up to {max(vms(group) for group in groups)} VMs",
        Effect(share, (max(0.0, min(low, share - half)), min(1.0, max(high, share + half)))),
        groups,
        f"{within} of {total} above 100 ms with {name}",
    )


def _rtt(group: Group) -> list[Floats]:
    """Return a group's user RTTs in µs, trial by trial; none if it has too few packets."""
    return runs(group, "app") or []


def _has(group: Group) -> bool:
    return bool(_rtt(group))


def _frequencies(groups: list[Group]) -> Iterator[tuple[str, Group, Group]]:
    both = matched(pick(groups, vms="0"), "frequency", (SLOW, FAST))
    for slow, fast in zip(both[SLOW], both[FAST], strict=True):
        if _has(slow) and _has(fast):
            yield label(slow, "driver", "core"), slow, fast


def _published(group: Group) -> float:
    """Return the paper's median RTT in ms without load."""
    levels = group.factors
    return TABLE[levels["frequency"], levels["driver"], levels["core"]].median


def _named(group: Group) -> str:
    return label(group, "vms", "place", "driver", "core", "frequency")


def _against_none(groups: list[Group], load: str, place: str) -> list[Group]:
    return [*pick(groups, vms="0"), *pick(groups, load=load, place=place)]


def _beside_none(groups: list[Group], load: str) -> Iterator[tuple[Group, Group]]:
    """Yield each group under a load with the matching group without background VMs."""
    alone = ("driver", "core", "frequency")
    none = {tuple(g.factors.get(f) for f in alone): g for g in pick(groups, vms="0")}
    for group in pick(groups, load=load):
        rest = none.get(tuple(group.factors.get(f) for f in alone))
        if rest is not None and vms(group) > 0:
            yield group, rest


def _most(groups: list[Group], load: str) -> int:
    return max((vms(group) for group in pick(groups, load=load)), default=0)


def _ends(groups: list[Group], least: int) -> tuple[Group, Group] | None:
    """Return the group with `least` VMs and the one with the most, None unless both have enough."""
    counted = {vms(group): group for group in groups}
    if least not in counted or max(counted) <= least:
        return None
    few, most = counted[least], counted[max(counted)]
    return (few, most) if _has(few) and _has(most) else None


_ratio = of_medians(lambda ours, theirs: ours / theirs)
_change = of_medians(lambda ours, theirs: ours / theirs - 1)
_changes_apart = of_medians(
    lambda ours, our_rest, theirs, their_rest: ours / our_rest / (theirs / their_rest) - 1
)
_above = of_medians(
    lambda user, user_rest, nic, nic_rest: 1 - (nic - nic_rest) / (user - user_rest)
)


def _means(series: list[Floats]) -> Floats:
    (values,) = series
    return np.asarray(np.mean(values, axis=-1))


def _mean(run: Run) -> str:
    return in_words(float(whole(run).mean()))
