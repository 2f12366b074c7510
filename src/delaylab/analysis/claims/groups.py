"""Selection and matching of a factorial study's groups by their levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from delaylab.analysis.claims.claim import ENOUGH
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.quantiles import Floats, spread

# Each of the groups that are pooled contributes at most this many packets.
POOLED = 400
VMS = "vms"
SHARE = "overhead share"
EACH_ENOUGH = f"each with at least {ENOUGH} packets"


def pick(groups: Sequence[Group], /, **levels: str) -> list[Group]:
    """Return the groups that have these levels of these factors."""
    return [g for g in groups if all(g.factors.get(f) == level for f, level in levels.items())]


def vms(group: Group) -> int:
    """Return the number of background nodes: the level of factor `vms` as a number, or 0."""
    level = group.factors.get(VMS, "")
    return int(level) if level.isdigit() else 0


def by_vms(groups: Sequence[Group]) -> dict[int, Group]:
    """Return the groups by their number of background nodes, in rising order."""
    return {vms(group): group for group in sorted(groups, key=vms)}


def scenario(group: Group, without: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the group's factors and levels without those of some factors."""
    return tuple((f, level) for f, level in group.factors.items() if f not in without)


def matched(groups: Sequence[Group], factor: str, levels: Sequence[str]) -> dict[str, list[Group]]:
    """Return groups by level of a factor, from the scenarios that have a group for every level."""
    together: dict[tuple[tuple[str, str], ...], dict[str, Group]] = {}
    for group in groups:
        if group.factors.get(factor) in levels:
            alike = together.setdefault(scenario(group, [factor]), {})
            alike[group.factors[factor]] = group
    whole = [alike for alike in together.values() if len(alike) == len(levels)]
    return {level: [alike[level] for alike in whole] for level in levels}


def series(group: Group, name: str) -> Floats | None:
    """Return a group's delays by name in µs, or its `SHARE`; None for fewer than `ENOUGH`."""
    if name != SHARE:
        return samples(group, name)
    table = group.samples.drop_nulls(["overhead", "app"])
    shares = (table["overhead"] / table["app"]).to_numpy()
    return shares if len(shares) >= ENOUGH else None


def pooled(groups: Sequence[Group], name: str) -> Floats | None:
    """Return delays of several groups, equally many packets of each; None if there are none."""
    known = [values for group in groups if (values := series(group, name)) is not None]
    if not known:
        return None
    count = min(POOLED, *(len(values) for values in known))
    # They take turns: one group after the other, the levels of the groups would look like memory.
    return np.stack([values[spread(len(values), count)] for values in known], axis=1).ravel()


def label(group: Group, *factors: str) -> str:
    """Return the group's levels of these factors, joined for a reader."""
    return ", ".join(group.factors[factor] for factor in factors if factor in group.factors)


def samples(group: Group, name: str) -> Floats | None:
    """Return a group's delays by name in µs, or None if there are fewer than `ENOUGH`."""
    values = group.samples[name].drop_nulls().to_numpy() / 1000
    return values if len(values) >= ENOUGH else None


def runs(group: Group, name: str) -> list[Floats] | None:
    """Return a group's delays by name in µs, one series for each trial.

    Return None if there are fewer than `ENOUGH`.
    """
    found = group.series(name)
    return found if sum(map(len, found)) >= ENOUGH else None


def refused_one_way(group: Group) -> str:
    """Return the reason why the group's one-way delays were refused, or "" if they were not."""
    for name, delay in group.one_way.items():
        if delay.median.at_most is not None:
            return f"{name} delay: {delay.median.why}"
    return ""


def setups(groups: list[Group]) -> list[str]:
    """Return each group's setup: its sender's kind, and the levels that set like groups apart.

    These are the levels of factors other than the load that differ among groups of one kind and
    load. Groups of one setup differ in their load only, so only they are compared load by load.
    """
    apart = {
        factor: None
        for one in groups
        for other in groups
        if (one.kind, one.load) == (other.kind, other.load)
        for factor, level in one.factors.items()
        if other.factors.get(factor) != level
    }
    levels = ([group.factors[f] for f in apart if f in group.factors] for group in groups)
    return [
        ", ".join(dict.fromkeys([group.kind, *names]))
        for group, names in zip(groups, levels, strict=True)
    ]


def by_setup(groups: list[Group], load: str) -> dict[str, Group]:
    """Return the groups under one load, by their setup."""
    named = zip(setups(groups), groups, strict=True)
    return {setup: group for setup, group in named if group.load == load}
