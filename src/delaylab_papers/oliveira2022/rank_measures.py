"""Quantities of oliveira2022's section 4.3: Kendall's tau of factors, and where outliers are.

Each is computed in every block. Its interval is Student's, of the mean over the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import sub
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from delaylab_study.papers.toolkit import (
    Effect,
    Floats,
    Group,
    Measure,
    Measured,
    NotTestable,
    mean_of_few,
    need_cpus,
    paired,
    robust_scale,
    tau,
    thinned,
    wilson,
)

from .balance import FASTEST, NETWORK, RTT, Blocks, alike, in_blocks, loading, of, under_every_load
from .measures import CPUS_TO_PIN, WITH_AFFINITY
from .published import OUTLIERS, OUTLIERS_ELSEWHERE_LXC

TAUS, TAUS_APART = (-1.0, 1.0), (-2.0, 2.0)
"""Smallest and largest value of Kendall's tau, and of the difference of two."""
NAMED_IN_TABLE_5 = (
    ("other loads", "sender", FASTEST),
    ("other loads", "responder", FASTEST),
    ("network", "responder", "other rates"),
    ("network", "responder", FASTEST),
    ("network", "sender", FASTEST),
)
"""Scenarios in which table 5 has LXC's outliers, but for 0.1 % of them."""
Levels = Sequence[str]
Counts = NDArray[np.int64]


class Level(NamedTuple):
    """A level of a factor, and all of the levels that it is compared with."""

    factor: str
    level: str
    among: Levels


def tau_of(environments: Levels, of_level: Level, name: str, sign: int = 1) -> Measure:
    """Return a measure of Kendall's tau of a factor's level with a quantity, times `sign`.

    Groups count whose scenario has all of the levels that are present.
    """

    factor, level, among = of_level

    def measure(groups: list[Group]) -> Iterator[Measured]:
        if factor == "affinity":
            need_cpus(groups, CPUS_TO_PIN, WITH_AFFINITY)
        same = alike(of(groups, environments), factor, among)
        found = _taus(same, level, name)
        if found:
            used = [group for several in same.values() for group in several]
            words = f"tau {_middle(found):.2f}, of {len(same[level])} scenarios"
            yield Measured(
                f"{factor} {level}", mean_of_few(sign * _values(found), TAUS), used, words
            )

    return measure


def tau_above_others(environments: Levels, of_level: Level) -> Measure:
    """Return a measure of the distance of a level's tau from each other level's, with the RTT."""

    factor, level, among = of_level

    def measure(groups: list[Group]) -> Iterator[Measured]:
        same = alike(of(groups, environments), factor, among)
        ours = _taus(same, level, RTT)
        for other in same:
            theirs = _taus(same, other, RTT)
            if other == level or not ours or not theirs:
                continue
            used = [group for several in same.values() for group in several]
            apart = paired(ours, theirs, sub)
            words = f"tau {_middle(ours):.2f} of {level}, {_middle(theirs):.2f} of {other}"
            yield Measured(f"{factor} {other}", mean_of_few(apart, TAUS_APART), used, words)

    return measure


def outliers_at_responder(environments: Levels, published: str) -> Measure:
    """Return a measure of the share of outliers that were under network load at the responder.

    An outlier is a user RTT whose modified z-score over all scenarios together is above 3.5.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        chosen = under_every_load(of(groups, environments))
        if not any(loading(group) == NETWORK for group in chosen):
            return
        there = [loading(group) == NETWORK for group in chosen]
        counts = _outliers(chosen)
        share = _share(counts, there)
        words = f"{int(counts[there].sum())} of {int(counts.sum())} outliers"
        value = OUTLIERS[published][NETWORK] / 100
        yield Measured(f"{len(chosen)} scenarios", share, chosen, words, value)

    return measure


def largest_share_of_outliers(environments: Levels) -> Measure:
    """Return a measure of the share of outliers in the scenario that has most of them.

    Scenarios are told apart as in table 5: network load or another, its place, 1 Mpps or less.
    """

    def measure(groups: list[Group]) -> Iterator[Measured]:
        chosen = under_every_load(of(groups, environments))
        scenarios = [_table_5(group) for group in chosen]
        if len({scenario[2] for scenario in scenarios}) < 2:
            return
        counts = _outliers(chosen)
        known = dict.fromkeys(scenarios)
        where = {name: [each == name for each in scenarios] for name in known}
        most = max(where, key=lambda name: int(counts[where[name]].sum()))
        words = f"{int(counts[where[most]].sum())} of {int(counts.sum())} outliers"
        yield Measured(", ".join(most), _share(counts, where[most]), chosen, words)

    return measure


def outliers_elsewhere(environments: Levels) -> Measure:
    """Return a measure of the share of outliers in scenarios that table 5 does not name."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        chosen = under_every_load(of(groups, environments))
        elsewhere = [_table_5(group) not in NAMED_IN_TABLE_5 for group in chosen]
        if not any(elsewhere):
            return
        counts = _outliers(chosen)
        words = f"{int(counts[elsewhere].sum())} of {int(counts.sum())} outliers"
        published = OUTLIERS_ELSEWHERE_LXC / 100
        yield Measured("other scenarios", _share(counts, elsewhere), chosen, words, published)

    return measure


def _table_5(group: Group) -> tuple[str, str, str]:
    load, place = loading(group)
    fast = group.factors.get("rate") == FASTEST
    return load if load == "network" else "other loads", place, FASTEST if fast else "other rates"


def _outliers(groups: Sequence[Group]) -> Counts:
    """Return the number of outliers of each group in each block, of equally many packets each.

    Raise NotTestable if there are none.
    """
    by_group = [in_blocks([group], RTT) for group in groups]
    common = sorted(set.intersection(*map(set, by_group)))
    every = [values for of_group in by_group for values in of_group.values()]
    scale = robust_scale(np.concatenate(every))
    counts = np.array(
        [[int(scale.flags(of_group[block]).sum()) for block in common] for of_group in by_group]
    )
    if counts.sum() == 0:
        raise NotTestable("needs outliers, and there was none")
    return counts


def _share(counts: Counts, there: Sequence[bool]) -> Effect:
    """Return the share of outliers in some groups: the mean of the blocks that have outliers.

    The interval is at least Wilson's of all outliers.
    """
    of_block = counts.sum(axis=0)
    shares = counts[np.asarray(there)].sum(axis=0)[of_block > 0] / of_block[of_block > 0]
    found = mean_of_few(shares)
    if len(shares) < 2:
        return found
    low, high = wilson(found.value, float(counts.sum()))
    return Effect(
        found.value,
        (max(0.0, min(low, found.interval[0])), min(1.0, max(high, found.interval[1]))),
    )


def _taus(same: dict[str, list[Group]], level: str, name: str) -> dict[int, float]:
    """Return Kendall's tau of a level by block, against all other levels together."""
    if len(same) < 2 or not same.get(level):
        return {}
    by_level = {each: in_blocks(several, name) for each, several in same.items()}
    common = sorted(set.intersection(*map(set, by_level.values())))
    return {block: _tau(by_level, level, block) for block in common}


def _tau(by_level: dict[str, Blocks], level: str, block: int) -> float:
    """Return Kendall's tau in one block, of equally many packets of each level."""
    count = min(len(blocks[block]) for blocks in by_level.values())
    even = {each: thinned(blocks[block], count) for each, blocks in by_level.items()}
    others = [values for each, values in even.items() if each != level]
    return tau(even[level], np.concatenate(others))


def _middle(taus: dict[int, float]) -> float:
    return float(_values(taus).mean())


def _values(of_block: dict[int, float]) -> Floats:
    return np.array(list(of_block.values()))
