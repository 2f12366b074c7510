"""A paper's sentences as tests on a dataset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from delaylab.analysis.effects import Effect
from delaylab.analysis.group import Group
from delaylab.analysis.statistics import Floats, Interval

Verdict = Literal["reproduced", "not reproduced", "not testable here"]

# A group with fewer packets says nothing on a claim.
ENOUGH = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim's verdict with its reason; the effect has its unit and 95 % interval."""

    id: str
    text: str
    paper: str
    verdict: Verdict
    why: str
    effect: float | None = None
    interval: Interval | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a claim's test returns: without an effect the claim is not testable here."""

    holds: bool
    why: str
    effect: Effect | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper, and the test that decides it on groups of trials."""

    id: str
    text: str
    paper: str
    test: Callable[[list[Group]], Result]


class NotTestable(Exception):
    """The dataset lacks what a claim speaks about; the message says what."""


def judge(claim: Claim, groups: list[Group]) -> Finding:
    """Return the claim's verdict on these groups."""
    try:
        result = claim.test(groups)
    except NotTestable as reason:
        return Finding(claim.id, claim.text, claim.paper, "not testable here", str(reason))
    effect = result.effect
    return Finding(
        claim.id,
        claim.text,
        claim.paper,
        "reproduced" if result.holds else "not reproduced",
        result.why,
        effect.value if effect else None,
        effect.interval if effect else None,
        result.unit,
    )


def samples(group: Group, name: str) -> Floats | None:
    """Return a group's delays by name in µs, or None if there are fewer than `ENOUGH`."""
    values = group.samples[name].drop_nulls().to_numpy() / 1000
    return values if len(values) >= ENOUGH else None


def refused_one_way(group: Group) -> str:
    """Return why the group's one-way delays say nothing, or nothing if they do."""
    for name, delay in group.one_way.items():
        if delay.median.at_most is not None:
            return f"{name} delay: {delay.median.why}"
    return ""


def by_kind(groups: list[Group], load: str) -> dict[str, Group]:
    """Return the groups under one load by the sender's technology."""
    return {group.kind: group for group in groups if group.load == load}
