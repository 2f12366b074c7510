"""Groups of a factorial study, picked and matched by their levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from delaylab.analysis.claims import ENOUGH, NotTestable, samples
from delaylab.analysis.effects import Effect
from delaylab.analysis.group import Group
from delaylab.analysis.statistics import Floats, spread

# Of each group that is pooled with others so many packets count.
POOLED = 400
VMS = "vms"
SHARE = "overhead share"


def pick(groups: Sequence[Group], **levels: str) -> list[Group]:
    """Return the groups that have these levels of these factors."""
    return [g for g in groups if all(g.factors.get(f) == level for f, level in levels.items())]


def vms(group: Group) -> int:
    """Return how many background nodes the group's trials had, by the level of factor `vms`."""
    level = group.factors.get(VMS, "")
    return int(level) if level.isdigit() else 0


def by_vms(groups: Sequence[Group]) -> dict[int, Group]:
    """Return groups that differ in the number of background nodes by that number, rising."""
    return {vms(group): group for group in sorted(groups, key=vms)}


def scenario(group: Group, without: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the levels of a group, without those of some factors."""
    return tuple((f, level) for f, level in group.factors.items() if f not in without)


def matched(groups: Sequence[Group], factor: str, levels: Sequence[str]) -> dict[str, list[Group]]:
    """Return groups by level of a factor, of those scenarios only that have all of the levels."""
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
    """Return the delays of several groups, of each equally many; None if there are none."""
    known = [values for group in groups if (values := series(group, name)) is not None]
    if not known:
        return None
    count = min(POOLED, *(len(values) for values in known))
    return np.concatenate([values[spread(len(values), count)] for values in known])


def weakest(effects: dict[str, Effect], needs: str) -> str:
    """Return where a claim that wants large effects has the least support; it must hold there."""
    if not effects:
        raise NotTestable(f"{needs}, each with at least {ENOUGH} packets")
    return min(effects, key=lambda name: effects[name].interval[0])


def furthest(effects: dict[str, Effect], needs: str) -> str:
    """Return where a claim that wants no effect has the least support; it must hold there."""
    if not effects:
        raise NotTestable(f"{needs}, each with at least {ENOUGH} packets")
    return max(effects, key=lambda name: largest(effects[name]))


def largest(effect: Effect) -> float:
    """Return how far from 0 the effect may be, either way."""
    return max(abs(end) for end in effect.interval)


def label(group: Group, *factors: str) -> str:
    """Return some of the group's levels, as a reader sees them."""
    return ", ".join(group.factors[factor] for factor in factors if factor in group.factors)


def in_words(us: float) -> str:
    """Write a delay in µs."""
    return f"{us / 1000:.2f} ms" if abs(us) >= 1000 else f"{us:.1f} µs"
