"""Doubts about the trials that a claim's test used, and those that leave its verdict open."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields

from delaylab.analysis.group import Group
from delaylab.dataset.records.doubts import DoubtKind
from delaylab.dataset.records.trial import TrialRecord

# Doubts that say that something else than the study's levels made trials differ. Other doubts
# concern one value (a tail, a lost packet, a link), which a claim may be about.
UNDERMINING = frozenset({DoubtKind.NOT_AT_REST, DoubtKind.STOLEN_TIME, DoubtKind.CLOCK_STEP})
# A verdict is left open if an undermining doubt concerns a larger share of the claim's trials.
MOST = 0.25


@dataclass(frozen=True, slots=True)
class ClaimDoubt:
    """Doubt about `trials` of the `of` trials that a claim's test used.

    `undermines` is True if it leaves the verdict open.
    """

    kind: str
    trials: int
    of: int
    undermines: bool

    @property
    def text(self) -> str:
        """Return the doubt in words."""
        return f"{self.kind} in {self.trials} of {self.of} trials"


class Watched(Group):
    """Group that notes when its data are read, so that a claim's test need not say what it used.

    Its levels, kind and load may be read without that: tests look at them to choose groups.
    """

    __slots__ = ("_inner", "_used")
    _inner: Group
    _used: list[Group]

    def __init__(self, inner: Group, used: list[Group]) -> None:
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_used", used)

    def __getattribute__(self, name: str) -> object:
        """Return the group's attribute; note the group if it is one of its data."""
        inner: Group = object.__getattribute__(self, "_inner")
        used: list[Group] = object.__getattribute__(self, "_used")
        if name in DATA and not any(each is inner for each in used):
            used.append(inner)
        return getattr(inner, name)


DATA = frozenset(field.name for field in fields(Group)) - {"doubts"}


def watched(groups: list[Group]) -> tuple[list[Group], list[Group]]:
    """Return the groups for a test, and a list to which those are added whose data it reads."""
    used: list[Group] = []
    return [Watched(group, used) for group in groups], used


def doubts_of(used: list[Group]) -> tuple[ClaimDoubt, ...]:
    """Return the doubts about the trials of these groups, those that undermine a verdict first."""
    of = sum(len(group.trials) for group in used)
    counts = Counter(kind for group in used for t in group.trials for kind in _kinds(group, t))
    found = [
        ClaimDoubt(kind, trials, of, kind in UNDERMINING and trials > MOST * of)
        for kind, trials in counts.items()
    ]
    return tuple(sorted(found, key=lambda each: (not each.undermines, -each.trials, each.kind)))


def _kinds(group: Group, trial: TrialRecord) -> set[str]:
    """Return the kinds of a trial's doubts; one that names no trial concerns all of its group."""
    recorded = [doubt for each in group.trials for doubt in each.warnings]
    found = [
        doubt
        for doubt in group.doubts
        if doubt not in recorded and doubt.values.get("trial", trial.id) == trial.id
    ]
    return {str(doubt.kind) for doubt in (*found, *trial.warnings)}
