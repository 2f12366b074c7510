"""Series of oliveira2022's trials by block, and scenarios that are alike but for one factor.

A factor's level is compared with another in scenarios that both have, so that no other factor's
level goes with it. Intervals are between blocks: a series is one trial, or all scenarios of one
block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from delaylab_study.papers.toolkit import (
    ENOUGH,
    Floats,
    Group,
    Run,
    by_repeat,
    label,
    matched,
    number,
    pick,
    scenario,
    thinned,
)

VIRTIO, RTL8139 = "kvm-virtio", "kvm-rtl8139"
PARAVIRTUAL, EMULATED = (VIRTIO, "kvm-vmxnet3"), ("kvm-e1000", RTL8139)
KVM = (*PARAVIRTUAL, *EMULATED)
LXC, DOCKER = "lxc", "docker"
CONTAINERS = (LXC, DOCKER)
SLOW, FASTEST = "1pps", "1Mpps"
RATES = (SLOW, "1kpps", FASTEST)
"""The paper's rates; the study also has one of its own."""
HELD = "highest-held"
LOADS, PLACES = ("cpu", "io", "network"), ("sender", "responder")
NETWORK = ("network", "responder")
RTT, WAY, OVERHEAD, OVER_RTT = "app", "uplink", "overhead", "overhead share"
"""Quantities: the RTT in user space and from the sender's host interface on, the overhead between
the two, and its share of the RTT in user space."""
POOLED = 400
"""The most packets of each of the groups that are taken together."""
Blocks = dict[int, Floats]


def vms(group: Group) -> int:
    """Return the number of background guests."""
    return number(group, "vms")


def blocks(group: Group, name: str) -> Blocks:
    """Return a quantity of a group's packets, by the block of their trial; delays are in µs."""
    needed = (OVERHEAD, RTT) if name == OVER_RTT else (name,)
    return {repeat: _of(packets, name) for repeat, packets in by_repeat(group, *needed).items()}


def _of(packets: pl.DataFrame, name: str) -> Floats:
    """Return a quantity of one trial's packets."""
    if name == OVER_RTT:
        return (packets[OVERHEAD] / packets[RTT]).to_numpy()
    return packets[name].to_numpy()


def run(group: Group, name: str) -> Run | None:
    """Return a quantity of a group, one series for each trial; None for fewer than `ENOUGH`."""
    found = list(blocks(group, name).values())
    return found if sum(map(len, found)) >= ENOUGH else None


def in_blocks(groups: Sequence[Group], name: str) -> Blocks:
    """Return a quantity of several groups by block, equally many packets of each group.

    Blocks that one of the groups lacks are left out.
    """
    known = [blocks(group, name) for group in groups]
    common = sorted(set.intersection(*map(set, known))) if known else []
    return {block: _in_turn([each[block] for each in known]) for block in common}


def together(groups: Sequence[Group], name: str) -> Run | None:
    """Return a quantity of several groups, one series for each block."""
    found = list(in_blocks(groups, name).values())
    return found if sum(map(len, found)) >= ENOUGH else None


def _in_turn(series: Sequence[Floats]) -> Floats:
    count = min(POOLED, *(len(values) for values in series))
    # They take turns: one group after the other, the levels of the groups would look like memory.
    return np.stack([thinned(values, count) for values in series], axis=1).ravel()


def of(groups: Iterable[Group], environments: Sequence[str]) -> list[Group]:
    """Return the groups of some environments that have packets."""
    return [
        group
        for group in groups
        if group.factors.get("environment") in environments
        and group.packets is not None
        and group.packets.samples[RTT].count()
    ]


def present(groups: Sequence[Group], factor: str, levels: Sequence[str]) -> list[str]:
    """Return those of some levels of a factor that groups have."""
    return [level for level in levels if pick(groups, **{factor: level})]


def alike(groups: Sequence[Group], factor: str, levels: Sequence[str]) -> dict[str, list[Group]]:
    """Return groups by level of a factor, from scenarios that have all of the levels present."""
    return matched(groups, factor, present(groups, factor, levels))


def under_every_load(groups: Sequence[Group]) -> list[Group]:
    """Return the groups with background guests, from scenarios with every load at every place.

    Loads that no group has are not asked for.
    """
    loaded = [group for group in groups if vms(group) > 0]
    wanted = {(load, place) for load in present(loaded, "load", LOADS) for place in PLACES}
    together: dict[tuple[tuple[str, str], ...], list[Group]] = {}
    for group in loaded:
        together.setdefault(scenario(group, ["load", "place"]), []).append(group)
    return [
        group
        for same in together.values()
        if {loading(each) for each in same} >= wanted
        for group in same
    ]


def with_guests_and_without(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Return groups without background guests, and those with most of them under every load.

    Both are in the same environments, with the same affinity and rate.
    """
    most = max(map(vms, groups), default=0)
    guests = {
        "without": [group for group in groups if vms(group) == 0],
        "with": under_every_load([group for group in groups if vms(group) == most > 0]),
    }
    sides = [{_setting(group) for group in side} for side in guests.values()]
    return {
        side: [group for group in found if _setting(group) in sides[0] & sides[1]]
        for side, found in guests.items()
    }


def _setting(group: Group) -> tuple[tuple[str, str], ...]:
    return scenario(group, ["vms", "load", "place"])


def loading(group: Group) -> tuple[str, str]:
    """Return a group's load and its place."""
    return group.factors.get("load", ""), group.factors.get("place", "")


def with_rest(groups: Sequence[Group]) -> Iterator[tuple[Group, Group]]:
    """Yield each group with background guests, and the one alike that has none."""
    alone = ("environment", "affinity", "rate")
    rest = {label(group, *alone): group for group in groups if vms(group) == 0}
    for group in groups:
        without = rest.get(label(group, *alone))
        if vms(group) > 0 and without is not None:
            yield group, without
