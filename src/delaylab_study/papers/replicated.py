"""Claims that two datasets have in common: were the verdicts the same?"""

from __future__ import annotations

from dataclasses import dataclass

from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.compared.side import Side
from delaylab_study.papers.findings import findings


@dataclass(frozen=True, slots=True)
class ComparedClaim:
    """The verdicts on a claim in two datasets."""

    before: Finding
    after: Finding

    @property
    def claim(self) -> str:
        """Return the claim's name."""
        return self.before.id

    @property
    def changed(self) -> bool:
        """Return True if the verdicts differ."""
        return self.before.verdict != self.after.verdict


def compared_claims(before: Side, after: Side) -> list[ComparedClaim]:
    """Return the claims of both datasets, those whose verdict changed first.

    Levels of one dataset have none: its claims are about all of it.
    """
    if before.factor or after.factor:
        return []
    names = [set(side.study.record.claims) for side in (before, after)]
    if not names[0] & names[1]:
        return []
    ours, theirs = (
        {each.id: each for each in findings(side.study, side.groups)} for side in (before, after)
    )
    found = [ComparedClaim(ours[name], theirs[name]) for name in ours if name in theirs]
    return sorted(found, key=lambda each: not each.changed)
