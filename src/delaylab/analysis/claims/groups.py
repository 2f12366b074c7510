"""Selection and matching of a factorial study's groups by their levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from delaylab.analysis.claims.claim import ENOUGH, NotTestable, samples
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import Effect
from delaylab.analysis.statistics.quantiles import Floats, spread

# Each of the groups that are pooled contributes at most this many packets.
POOLED = 400
VMS = "vms"
SHARE = "overhead share"


def pick(groups: Sequence[Group], **levels: str) -> list[Group]:
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


EACH_ENOUGH = f"each with at least {ENOUGH} packets"


def weakest(effects: dict[str, Effect], needs: str) -> tuple[str, Effect]:
    """Return the effect whose interval reaches lowest, with its name.

    A claim that predicts a large effect has the least support there, and must hold even there.
    Raise NotTestable, which says that it `needs` something, if there is no effect.
    """
    if not effects:
        raise NotTestable(f"needs {needs}")
    name = min(effects, key=lambda each: effects[each].interval[0])
    return name, effects[name]


def furthest(effects: dict[str, Effect], needs: str) -> str:
    """Return the name of the effect that may lie furthest from 0, by its interval.

    A claim that predicts no effect has the least support there, and must hold even there. Raise
    NotTestable if there is no effect.
    """
    if not effects:
        raise NotTestable(f"{needs}, each with at least {ENOUGH} packets")
    return max(effects, key=lambda name: largest(effects[name]))


def largest(effect: Effect) -> float:
    """Return the largest distance from 0 that the effect's interval allows, in either direction."""
    return max(abs(end) for end in effect.interval)


def label(group: Group, *factors: str) -> str:
    """Return the group's levels of these factors, joined for a reader."""
    return ", ".join(group.factors[factor] for factor in factors if factor in group.factors)


def in_words(us: float) -> str:
    """Write a delay in µs, or in ms from 1000 µs on."""
    return f"{us / 1000:.2f} ms" if abs(us) >= 1000 else f"{us:.1f} µs"
