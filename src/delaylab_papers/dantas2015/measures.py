"""Quantities of dantas2015's claims: what each measures, scenario by scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from delaylab_study.papers.toolkit import (
    Effect,
    Floats,
    Group,
    Measured,
    NotTestable,
    Run,
    Statistic,
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
NO_IMPACT = 0.2
"""Limit for "no impact at all". The paper's own medians are 1 % to 10 % apart, each of 100
packets."""
LIMITED = 0.25
"""Limit for "insensitive", "unaffected" and "does not affect": a quarter."""
CUT_IN_HALF = 0.5
SIGNIFICANTLY = 2.0
HUNDREDFOLD = 100.0
"""From below 1 ms to above 100 ms."""
ABOVE_NIC = 0.8
"""Limit for "little or no increase" at the host's NIC: this share of the growth lies above it."""
STRIKING = 2.0
"""Limit for the "striking difference" between the drivers; the paper's is 120 ms to 20 ms."""
PUBLISHED_STRIKING = 120 / 20
OUTLIER_US = 100_000.0
MOST = 0.5
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


def cpu_growth(frequency: str, core: str) -> Callable[[list[Group]], Iterator[Measured]]:
    """Return what yields the change of the median RTT by CPU load at the sender, by driver."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        if core == RESERVED:
            need_cpus(groups, CPUS_TO_RESERVE, WITH_RESERVATION)
        chosen = pick(_against_none(groups, "cpu", "sender"), core=core, frequency=frequency)
        for driver in dict.fromkeys(group.factors["driver"] for group in chosen):
            ends = _ends(pick(chosen, driver=driver))
            if ends is not None:
                none, most = ends
                yield Measured(
                    driver,
                    estimate([_rtt(most), _rtt(none)], _change),
                    ends,
                    f"{median_in_words(_rtt(none))} without VMs, "
                    f"{median_in_words(_rtt(most))} with {vms(most)}",
                )

    return measure


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
    yield from _network_ratio(groups, _ratio)


def mean_network_ratio(groups: list[Group]) -> Iterator[Measured]:
    """Yield the mean RTT under network load over that without, for every configuration."""
    yield from _network_ratio(groups, _mean_ratio)


def _network_ratio(groups: list[Group], of: Statistic) -> Iterator[Measured]:
    for group, rest in _beside_none(groups, "network"):
        if _has(group) and _has(rest):
            effect = estimate([_rtt(group), _rtt(rest)], of)
            yield Measured(_named(group), effect, (group, rest), f"{effect.value:.1f} times")


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


def drivers_at_the_bridge(groups: list[Group]) -> Iterator[Measured]:
    """Yield virtio's mean RTT at the sender's bridge over e1000's, under network load at 1 Hz."""
    chosen = pick(groups, load="network", place="sender", core=SHARED, frequency=SLOW)
    most = [group for group in chosen if vms(group) == _most(chosen, "network")]
    both = matched(most, "driver", ("virtio", "e1000"))
    for virtio, e1000 in zip(both["virtio"], both["e1000"], strict=True):
        ours, theirs = runs(virtio, "vif"), runs(e1000, "vif")
        if ours is not None and theirs is not None:
            yield Measured(
                f"{vms(virtio)} VMs",
                estimate([ours, theirs], _mean_ratio),
                (virtio, e1000),
                f"virtio {_mean(ours)}, e1000 {_mean(theirs)}",
                PUBLISHED_STRIKING,
            )


def moved_by_io(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much I/O load moves the median RTT, for every configuration."""
    for group, rest in _beside_none(groups, "io"):
        if _has(group) and _has(rest):
            effect = estimate([_rtt(group), _rtt(rest)], _change)
            yield Measured(_named(group), effect, (group, rest), f"{effect.value:+.1%}")


def outliers_by_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the RTTs above 100 ms that were under network load.

    Raise NotTestable if no RTT was that long, or if there is no other load to compare with.
    """
    slow: Counter[str] = Counter()
    of_block: dict[int, Counter[str]] = {}
    for group in groups:
        load = group.factors.get("load", group.load)
        slow[load] += 0
        for repeat, packets in by_repeat(group, "app").items():
            count = int((packets["app"] > OUTLIER_US).sum())
            slow[load] += count
            of_block.setdefault(repeat, Counter())[load] += count
    if "network" not in slow or len(slow) < 2:
        return
    total = slow.total()
    if total == 0:
        raise NotTestable("needs RTTs above 100 ms, and there was none")
    counts = ", ".join(f"{load} {n}" for load, n in slow.items())
    most = max(vms(group) for group in groups)
    share = slow["network"] / total
    blocks = [block["network"] / block.total() for block in of_block.values() if block.total()]
    low, high = wilson(share, total)
    half = half_width(np.array(blocks))
    yield Measured(
        f"up to {most} VMs",
        Effect(share, (max(0.0, min(low, share - half)), min(1.0, max(high, share + half)))),
        groups,
        f"above 100 ms: {counts}",
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


def _ends(groups: list[Group]) -> tuple[Group, Group] | None:
    """Return the group without VMs and the one with the most, None unless both have enough."""
    counted = {vms(group): group for group in groups}
    if len(counted) < 2 or 0 not in counted:
        return None
    none, most = counted[0], counted[max(counted)]
    return (none, most) if _has(none) and _has(most) else None


_ratio = of_medians(lambda ours, theirs: ours / theirs)
_change = of_medians(lambda ours, theirs: ours / theirs - 1)
_above = of_medians(
    lambda user, user_rest, nic, nic_rest: 1 - (nic - nic_rest) / (user - user_rest)
)


def _mean_ratio(series: list[Floats]) -> Floats:
    ours, theirs = (np.mean(values, axis=-1) for values in series)
    return np.asarray(ours / theirs)


def _mean(run: Run) -> str:
    return in_words(float(whole(run).mean()))
