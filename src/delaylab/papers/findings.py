"""Verdicts on a study's claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from textwrap import shorten

from delaylab.analysis.claims.finding import Finding
from delaylab.analysis.claims.judge import judge
from delaylab.analysis.claims.own import claim_of
from delaylab.analysis.group import Group
from delaylab.dataset.records.doubts import DoubtKind
from delaylab.dataset.records.study import StudyRecord
from delaylab.dataset.store import Study
from delaylab.papers import calls, registry
from delaylab.papers.loading import Claims, claims, load
from delaylab.papers.paper import Paper

# Largest number of characters of a skipped trial's reason that is repeated with a claim.
REASON = 90
MISSING = "the paper {!r}, which this study repeats, is not installed"


@dataclass(frozen=True, slots=True)
class Repeated:
    """The paper in whose terms a study is reported.

    `own` is True if the study repeats it; `note` says that the study's own paper is not installed.
    """

    paper: Paper
    own: bool
    note: str = ""


def repeated(study: StudyRecord, given: Paper | None = None) -> Repeated:
    """Return the paper that a study repeats: the given one, else the installed one that it names.

    A study that names none, or one that is not installed, is reported in the usual terms. Nothing
    but installed papers is imported, whatever a dataset names.
    """
    if given is not None:
        return Repeated(given, own=True)
    source = str(study.spec.get("source", ""))
    known = registry.installed()
    if source in known:
        return Repeated(load(known[source]), own=True)
    missing = MISSING.format(shorten(source, REASON))
    note = f"{missing}: --paper FOLDER adds its claims, tables and figures"
    return Repeated(load(known[registry.USUAL]), own=False, note=note if source else "")


def findings(study: Study, groups: list[Group], given: Paper | None = None) -> list[Finding]:
    """Return the verdict on every claim that the study names, in the study's order.

    If a claim has no effect and trials were skipped, its reason says so. If a claim was decided and
    virtual machines were emulated in software, its reason says that.
    """
    if not study.record.claims:
        return []
    own = {spec.claim: claim_of(spec) for spec in study.record.own_claims}
    known = claims(given)
    paper = repeated(study.record, given)
    found = [
        judge(own[name], groups) if name in own else _finding(name, groups, known, paper.note)
        for name in study.record.claims
    ]
    skipped, emulated = _skipped(study), _emulated(study, paper)
    return [replace(each, why=f"{each.why}{_also(each, skipped, emulated)}") for each in found]


def _also(found: Finding, skipped: str, emulated: str) -> str:
    if found.effect is None:
        return skipped
    return "" if found.verdict == "not testable here" else emulated


def _emulated(study: Study, repeated: Repeated) -> str:
    kinds = {warning.kind for trial in study.trials for warning in trial.warnings}
    warned = DoubtKind.EMULATED in kinds
    if not warned or not repeated.own or not repeated.paper.on_hardware:
        return ""
    return ". Virtual machines were emulated in software here (TCG); the paper's ran on hardware"


def _skipped(study: Study) -> str:
    reasons = Counter(t.reason or "no reason recorded" for t in study.trials if t.status != "ok")
    if not reasons:
        return ""
    reason, n = reasons.most_common(1)[0]
    said = shorten(reason, REASON, placeholder=" …")
    return f". {reasons.total()} of {len(study.trials)} trials were not measured, {n} since: {said}"


def _finding(name: str, groups: list[Group], known: Claims, note: str) -> Finding:
    if name in known:
        return calls.finding(*known[name], groups)
    why = note or f"this version knows no such claim; it knows {', '.join(known)}"
    return Finding(name, name, "", "not testable here", why)
