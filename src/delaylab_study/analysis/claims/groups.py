"""Selection and matching of a factorial study's groups by their levels."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from delaylab_study.analysis.claims.claim import ENOUGH, NotTestable
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.runs import Floats, RunInBlocks
from delaylab_study.dataset.records.trial import TrialRecord

EACH_ENOUGH = f"each with at least {ENOUGH} packets"
"""Ending of `Criterion.needs` for groups that are compared."""


def pick(groups: Sequence[Group], /, **levels: str) -> list[Group]:
    """Return the groups that have these levels of these factors."""
    return [g for g in groups if all(g.factors.get(f) == level for f, level in levels.items())]


def number(group: Group, factor: str) -> int:
    """Return the level of a factor as a number; 0 if it is absent or not a number."""
    level = group.factors.get(factor, "")
    return int(level) if level.isdigit() else 0


def scenario(group: Group, without: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return a group's factors and levels, except those of the factors in `without`."""
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


def label(group: Group, *factors: str) -> str:
    """Return the group's levels of these factors, joined for a reader."""
    return ", ".join(group.factors[factor] for factor in factors if factor in group.factors)


def samples(group: Group, name: str) -> Floats | None:
    """Return a group's delays by name in µs, or None if there are fewer than `ENOUGH`."""
    if group.packets is None:
        return None
    values = group.packets.samples[name].drop_nulls().to_numpy() / 1000
    return values if len(values) >= ENOUGH else None


def runs(group: Group, name: str) -> list[Floats] | None:
    """Return a group's delays by name in µs, one series for each trial.

    Those of several machines know their blocks. Return None if there are fewer than `ENOUGH`.
    """
    found = group.packets.series(name) if group.packets else []
    if sum(map(len, found)) < ENOUGH:
        return None
    if group.packets is None or len({trial.machine for trial in group.trials}) < 2:
        return found
    blocks = [group.trials[index].block for index in group.packets.of_trials(name)]
    return RunInBlocks(found, blocks)


def by_repeat(group: Group, *names: str) -> dict[int, pl.DataFrame]:
    """Return the packets of each trial that have all of the named values, by the trial's block.

    Delays are in µs. Trials without such packets are left out.
    """
    if group.packets is None:
        return {}
    found = group.packets.of_trials(*names)
    return {group.trials[index].block: packets for index, packets in found.items()}


def printed(trial: TrialRecord, work: str) -> dict[str, float]:
    """Return the figures that a command printed in a trial, by name; of several nodes the last."""
    return {
        figure.name: figure.value
        for done in trial.work
        if done.work == work
        for figure in done.figures
    }


def loads(groups: Sequence[Group]) -> list[str]:
    """Return the name of each group's load as the study has it.

    That is the level of the factor whose levels each stand for one load. A study without such a
    factor has the names of loads and work themselves.
    """
    for factor in dict.fromkeys(factor for group in groups for factor in group.factors):
        pairs = {(group.factors.get(factor), group.load) for group in groups}
        one_to_one = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
        if one_to_one and len(pairs) > 1:
            return [group.factors[factor] for group in groups]
    return [group.load for group in groups]


def need_cpus(groups: Sequence[Group], cpus: int, what_for: str) -> None:
    """Raise NotTestable if the trials' machine has fewer CPUs than this."""
    known = [has for group in groups if (has := group.machine.state.cpus) is not None]
    if known and min(known) < cpus:
        raise NotTestable(f"needs {cpus} CPUs: {what_for}; this machine has {min(known)}")


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
