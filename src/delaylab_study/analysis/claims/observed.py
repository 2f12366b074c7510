"""Observations for a claim: all that its verdict is derived from, without packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.api.records import DoubtKind
from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, NotTestable
from delaylab_study.analysis.claims.doubted import GroupDoubts, doubts_in
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.treatments.check import Untreated, treated


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedScenario:
    """The effect in one scenario, as `Measured` has it.

    `groups` are the places of its groups in `Observed.groups`. `kinds` are those of the nodes that
    stand for the paper's systems. `emulated` is True if virtual machines were emulated in a trial.
    """

    name: str
    effect: Effect
    groups: tuple[int, ...]
    kinds: tuple[str, ...]
    emulated: bool
    words: str = ""
    published: float | None = None
    aside: bool = False


@dataclass(frozen=True, slots=True)
class ObservedCriterion:
    """One quantity of a claim in all its scenarios."""

    quantity: str
    scenarios: tuple[ObservedScenario, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """All that a claim's verdict is derived from.

    `groups` are the doubts about the groups that scenarios name. `missing` is the reason why the
    data cannot test the claim, "" if they can. `left_out` says which trials were left out and why,
    "" if none was.
    """

    criteria: tuple[ObservedCriterion, ...] = ()
    groups: tuple[GroupDoubts, ...] = ()
    missing: str = ""
    left_out: str = ""


def observe(claim: Claim, groups: list[Group]) -> Observed:
    """Return what the trials say of a claim.

    Trials whose loads or closed loop did not do what they stand for are left out.
    """
    applied, untreated = treated(groups)
    left_out = _left_out(untreated)
    used: list[Group] = []
    try:
        criteria = tuple(_criterion(each, applied, used) for each in claim.criteria)
    except NotTestable as reason:
        return Observed(missing=str(reason), left_out=left_out)
    return Observed(
        criteria=criteria, groups=tuple(doubts_in(group) for group in used), left_out=left_out
    )


def _criterion(criterion: Criterion, groups: list[Group], used: list[Group]) -> ObservedCriterion:
    measured = list(criterion.measure(groups))
    if all(each.aside for each in measured):
        raise NotTestable(f"needs {criterion.needs}")
    return ObservedCriterion(criterion.quantity, tuple(_scenario(each, used) for each in measured))


def _scenario(measured: Measured, used: list[Group]) -> ObservedScenario:
    """Return an observed scenario, and add its groups to `used`."""
    return ObservedScenario(
        name=measured.scenario,
        effect=measured.effect,
        groups=tuple(_place(group, used) for group in measured.groups),
        kinds=tuple(measured.kinds or dict.fromkeys(group.kind for group in measured.groups)),
        emulated=any(_is_emulated(group) for group in measured.groups),
        words=measured.words,
        published=measured.published,
        aside=measured.aside,
    )


def _place(group: Group, used: list[Group]) -> int:
    for place, known in enumerate(used):
        if group is known:
            return place
    used.append(group)
    return len(used) - 1


def _is_emulated(group: Group) -> bool:
    warnings = (warning for trial in group.trials for warning in trial.warnings)
    return any(warning.kind == DoubtKind.EMULATED for warning in warnings)


def _left_out(untreated: Sequence[Untreated]) -> str:
    if not untreated:
        return ""
    first = untreated[0]
    more = f", and {len(untreated) - 1} more" if len(untreated) > 1 else ""
    return f". Left out, because {first.check.failure}: {first.text}{more}"
