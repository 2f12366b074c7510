"""Tests of a paper's claims on a dataset: their form, verdicts and helpers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from delaylab.analysis.claims.doubted import ClaimDoubt, doubts_of, watched
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import Effect
from delaylab.analysis.statistics.quantiles import Floats, Interval

Verdict = Literal["reproduced", "not reproduced", "open", "not testable here"]

VERDICTS: dict[bool | None, Verdict] = {
    True: "reproduced",
    False: "not reproduced",
    None: "open",
}

OPEN = "the interval reaches across the limit: more repeats, or a quieter machine, would tell"

# Smallest number of packets with which a group counts for a claim.
ENOUGH = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """Verdict on a claim with its reason; the effect has its unit and 95 % interval.

    `of` says what the effect is an effect of. `doubts` are those about the trials that the claim's
    test used.
    """

    id: str
    text: str
    paper: str
    verdict: Verdict
    why: str
    effect: float | None = None
    interval: Interval | None = None
    unit: str = ""
    doubts: tuple[ClaimDoubt, ...] = ()
    of: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a claim's test; `holds` is None where the data leave it open."""

    holds: bool | None
    why: str
    effect: Effect | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """Sentence of a paper, and the test that decides it on groups of trials.

    `effect` says what the effect is an effect of: the quantity, and what it compares.
    """

    id: str
    text: str
    paper: str
    test: Callable[[list[Group]], Result]
    effect: str = ""


class NotTestable(Exception):
    """Raised when the dataset lacks what a claim is about; the message says what is missing."""


def within(
    effects: Iterable[Effect], least: float = -math.inf, most: float = math.inf
) -> bool | None:
    """Return True if all intervals lie within the bounds, False if one lies beyond them.

    Return None if an interval reaches across a bound: the data leave the question open.
    """
    found = list(effects)
    if any(e.interval[1] < least or e.interval[0] > most for e in found):
        return False
    return all(least <= e.interval[0] and e.interval[1] <= most for e in found) or None


def judge(claim: Claim, groups: list[Group]) -> Finding:
    """Return the claim's verdict on these groups.

    The verdict is open if the data leave it open, or if a doubt undermines it (`doubted`).
    """
    given, used = watched(groups)
    try:
        result = claim.test(given)
    except NotTestable as reason:
        return Finding(claim.id, claim.text, claim.paper, "not testable here", str(reason))
    effect, doubts = result.effect, doubts_of(used)
    verdict, why = VERDICTS[result.holds], result.why
    undermining = [doubt.text for doubt in doubts if doubt.undermines]
    if result.holds is None:
        why = f"{why}; {OPEN}"
    elif undermining:
        why = f"{why}; would be {verdict}, but left open: {', '.join(undermining)}"
        verdict = "open"
    return Finding(
        claim.id,
        claim.text,
        claim.paper,
        verdict,
        why,
        effect.value if effect else None,
        effect.interval if effect else None,
        result.unit,
        doubts,
        claim.effect,
    )


def samples(group: Group, name: str) -> Floats | None:
    """Return a group's delays by name in µs, or None if there are fewer than `ENOUGH`."""
    values = group.samples[name].drop_nulls().to_numpy() / 1000
    return values if len(values) >= ENOUGH else None


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


def by_kind(groups: list[Group], load: str) -> dict[str, Group]:
    """Return the groups under one load, by the sender's kind.

    Raise NotTestable if two groups have the same kind: which of them is meant is not known.
    """
    found: dict[str, Group] = {}
    for group in (group for group in groups if group.load == load):
        if group.kind in found:
            both = f"{found[group.kind].label} and {group.label}"
            raise NotTestable(
                f"needs one group of kind {group.kind} under {load} load; here: {both}"
            )
        found[group.kind] = group
    return found
