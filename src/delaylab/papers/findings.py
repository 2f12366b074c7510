"""Verdicts on a study's claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from textwrap import shorten

from delaylab.analysis.claims.claim import Finding, judge
from delaylab.analysis.group import Group
from delaylab.dataset.records.doubts import DoubtKind
from delaylab.dataset.store import Study
from delaylab.papers.registry import CLAIMS

# Papers whose virtual machines had hardware support.
ON_HARDWARE = ("whiteaker2011", "dantas2015", "oliveira2022", "vem2006")
# Largest number of characters of a skipped trial's reason that is repeated with a claim.
REASON = 90


def findings(study: Study, groups: list[Group]) -> list[Finding]:
    """Return the verdict on every claim that the study names, in the study's order.

    If a claim is not testable and trials were skipped, its reason says so. If a claim was judged on
    virtual machines that were emulated in software, its reason says that.
    """
    found = [_finding(name, groups) for name in study.record.claims]
    skipped, emulated = _skipped(study), _emulated(study)
    return [
        replace(each, why=f"{each.why}{skipped if each.effect is None else emulated}")
        for each in found
    ]


def _emulated(study: Study) -> str:
    papers = str(study.record.spec.get("source", ""))
    kinds = {warning.kind for trial in study.trials for warning in trial.warnings}
    if DoubtKind.EMULATED not in kinds or papers not in ON_HARDWARE:
        return ""
    return ". Virtual machines were emulated in software here (TCG); the paper's ran on hardware"


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
