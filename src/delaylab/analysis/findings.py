"""A study's claims, judged."""

from __future__ import annotations

from delaylab.analysis import whiteaker2011
from delaylab.analysis.claims import Claim, Finding, judge
from delaylab.analysis.group import Group
from delaylab.dataset import Study

CLAIMS: dict[str, Claim] = {**whiteaker2011.CLAIMS}


def findings(study: Study, groups: list[Group]) -> list[Finding]:
    """Return the verdict on every claim that the study names, in its order."""
    return [_finding(name, groups) for name in study.record.claims]


def _finding(name: str, groups: list[Group]) -> Finding:
    if name in CLAIMS:
        return judge(CLAIMS[name], groups)
    why = f"this version knows no such claim; it knows {', '.join(CLAIMS)}"
    return Finding(name, name, "", "not testable here", why)
