"""A study's claims, judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from textwrap import shorten

from delaylab.analysis import dantas2015, oliveira2022, whiteaker2011
from delaylab.analysis.claims import Claim, Finding, judge
from delaylab.analysis.group import Group
from delaylab.dataset import Study

# Characters of a reason that are repeated with a claim.
REASON = 90
CLAIMS: dict[str, Claim] = {
    **whiteaker2011.CLAIMS,
    **dantas2015.CLAIMS,
    **oliveira2022.CLAIMS,
}


def findings(study: Study, groups: list[Group]) -> list[Finding]:
    """Return the verdict on every claim that the study names, in its order.

    Where one is not testable and trials were skipped, the reason says so.
    """
    found = [_finding(name, groups) for name in study.record.claims]
    skipped = _skipped(study)
    return [
        replace(each, why=f"{each.why}{skipped}") if each.effect is None else each for each in found
    ]


def _skipped(study: Study) -> str:
    reasons = Counter(t.reason or "no reason recorded" for t in study.trials if t.status != "ok")
    if not reasons:
        return ""
    reason, n = reasons.most_common(1)[0]
    said = shorten(reason, REASON, placeholder=" …")
    return f". {reasons.total()} of {len(study.trials)} trials were not measured, {n} since: {said}"


def _finding(name: str, groups: list[Group]) -> Finding:
    if name in CLAIMS:
        return judge(CLAIMS[name], groups)
    why = f"this version knows no such claim; it knows {', '.join(CLAIMS)}"
    return Finding(name, name, "", "not testable here", why)
