"""Verdicts on a study's claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from delaylab.api.records import DoubtKind
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.imagined import design_of
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.own import claim_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.treatments.check import treated
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.store import Study
from delaylab_study.papers import calls, registry
from delaylab_study.papers.expected import Imagined, out_of_reach
from delaylab_study.papers.loading import Claims, claims, load
from delaylab_study.papers.paper import Paper
from delaylab_study.study_file.claims import ClaimSpec

# Largest number of characters of a skipped trial's reason that is repeated with a claim.
REASON = 90
MISSING = "the paper {!r}, which this study repeats, is not installed"


Later = Sequence[ClaimSpec | str]
"""Claims that were chosen after the data: own ones, and the names of a paper's."""
UNKNOWN = "an unknown paper"
OWN_EMULATED = (
    ". Virtual machines were emulated in software here (TCG): their delays are an emulator's"
)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The paper that a study repeats; None if it repeats none, or one that is not installed.

    `note` says that the study's paper is not installed.
    """

    paper: Paper | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The findings on the claims of one paper, or on those that a study declares itself.

    `after_data` is True if the claims were chosen when the data were there. `paper` is None for a
    study's own claims, and for those of a paper that is not known here. `name` is the paper in
    words, "" for a study's own claims.
    """

    name: str
    paper: Paper | None
    findings: list[Finding]
    after_data: bool = False


def repeated(study: StudyRecord, given: Paper | None = None) -> Repeated:
    """Return the paper that a study repeats: the given one, else the installed one that it names.

    Nothing but installed papers is imported, whatever a dataset names.
    """
    if given is not None:
        return Repeated(given)
    source = _source(study)
    known = registry.installed()
    if source in known:
        return Repeated(load(known[source]))
    return Repeated(None, not_installed(source))


def not_installed(source: str) -> str:
    """Return the note that the paper of a study is not installed, "" if it names none or is."""
    if not source or source in registry.installed():
        return ""
    missing = MISSING.format(shorten(source, REASON))
    return f"{missing}: --paper FOLDER adds its claims, tables and figures"


def by_claimant(findings: list[Finding], given: Paper | None = None) -> list[Claimed]:
    """Return findings by the paper that makes the claims.

    A study's own claims come after a paper's, and those that were chosen after the data come last.
    """
    known = registry.installed()
    together: dict[tuple[bool, bool, str], list[Finding]] = {}
    for each in findings:
        key = (each.after_data, not each.claimed_by, each.claimed_by)
        together.setdefault(key, []).append(each)
    claimed = []
    for (after, _, name), alike in sorted(together.items(), key=lambda item: item[0][:2]):
        paper = given if given is not None and given.name == name else None
        if paper is None and name in known:
            paper = load(known[name])
        claimed.append(Claimed(paper.short if paper else name, paper, alike, after))
    return claimed


def findings(
    study: Study, groups: list[Group], given: Paper | None = None, later: Later = ()
) -> list[Finding]:
    """Return the verdict on every claim that the study names, in its order, then on `later`.

    A paper's claim that trials drawn from its own numbers would not show as reproduced, at the
    levels and with the packets of this study, is not testable here (`expected`).

    If a claim has no effect and trials were skipped, its reason says so. If a claim was decided on
    virtual machines that were emulated in software, its reason says that.
    """
    record = study.record
    specs = {spec.claim: spec for spec in record.own_claims}
    before = [specs.get(name, name) for name in record.claims]
    return [
        *_judged(study, groups, given, before),
        *(replace(each, after_data=True) for each in _judged(study, groups, given, later)),
    ]


def _judged(study: Study, groups: list[Group], given: Paper | None, wanted: Later) -> list[Finding]:
    if not wanted:
        return []
    paper = repeated(study.record, given)
    names = [each for each in wanted if isinstance(each, str)]
    of_papers = _of_papers(names, groups, given, _source(study.record), paper.note)
    found = [
        of_papers[claim] if isinstance(claim, str) else judge(claim_of(claim), groups)
        for claim in wanted
    ]
    skipped, emulated = _skipped(study), _emulated(study, paper)
    return [replace(each, why=f"{each.why}{_also(each, skipped, emulated)}") for each in found]


def _of_papers(
    names: Sequence[str], groups: list[Group], given: Paper | None, source: str, note: str
) -> dict[str, Finding]:
    """Return the findings on papers' claims by name; without one no paper is imported."""
    if not names:
        return {}
    applied, _ = treated(groups)
    imagined = Imagined([design_of(group) for group in applied])
    known = claims(given)
    return {name: _finding(name, groups, known, imagined, source, note) for name in names}


def _also(finding: Finding, skipped: str, emulated: str) -> str:
    if finding.effect is None:
        return skipped
    if finding.own:
        return OWN_EMULATED if finding.emulated else ""
    return "" if finding.verdict == "not testable here" else emulated


def _emulated(study: Study, repeated: Repeated) -> str:
    kinds = {warning.kind for trial in study.trials for warning in trial.warnings}
    warned = DoubtKind.EMULATED in kinds
    if not warned or repeated.paper is None or not repeated.paper.on_hardware:
        return ""
    return ". Virtual machines were emulated in software here (TCG); the paper's ran on hardware"


def _skipped(study: Study) -> str:
    reasons = Counter(t.reason or "no reason recorded" for t in study.trials if t.status != "ok")
    if not reasons:
        return ""
    reason, n = reasons.most_common(1)[0]
    said = shorten(reason, REASON, placeholder=" …")
    return f". {reasons.total()} of {len(study.trials)} trials were not measured, {n} since: {said}"


def _finding(
    name: str, groups: list[Group], known: Claims, imagined: Imagined, source: str, note: str
) -> Finding:
    if name in known:
        paper, claim = known[name]
        found = calls.finding(paper, claim, groups)
        if found.verdict == "not testable here":
            return found
        reason = out_of_reach(imagined.expected(paper, claim))
        return calls.finding(paper, claim, groups, reason) if reason else found
    why = note or f"this version knows no such claim; it knows {', '.join(known)}"
    claimed_by = shorten(source, REASON) or UNKNOWN
    return Finding(name, name, "", "not testable here", why, claimed_by=claimed_by)


def _source(study: StudyRecord) -> str:
    """Return the name of the paper that a study says it repeats, "" if it names none."""
    return str(study.spec.get("source", ""))
