"""Evidence for claims: what the trials of a study say of each, from which its verdict is derived.

It holds no packets, so it is small enough to be kept where a dataset is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.imagined import design_of
from delaylab_study.analysis.claims.judge import decide
from delaylab_study.analysis.claims.observed import Observed, observe
from delaylab_study.analysis.claims.own import claim_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.treatments.check import treated
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.store import Study
from delaylab_study.papers import calls, registry
from delaylab_study.papers.expected import Imagined, out_of_reach
from delaylab_study.papers.loading import Claims, claims
from delaylab_study.papers.paper import Paper
from delaylab_study.study_file.claims import ClaimSpec

REASON = 90
"""The largest number of characters of a trial's reason, or of a paper's name, that is repeated."""
MISSING = "the paper {!r}, which this study repeats, is not installed"
UNKNOWN = "an unknown paper"
EMULATED = ". Virtual machines were emulated in software here (TCG)"
OWN_EMULATED = f"{EMULATED}: their delays are an emulator's"
PAPERS_EMULATED = f"{EMULATED}; the paper's ran on hardware"

Wanted = Sequence[ClaimSpec | str]
"""Claims to judge: own ones as the study declares them, and the names of a paper's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of a study for one claim: what its trials say of it.

    `claim` is a claim of the study's own, or the name of a paper's. `repeats` is the paper that the
    study names, "" if it names none. `out_of_reach` is the reason why trials at these levels cannot
    test the claim, "" if they can. `skipped` says which trials were not measured, "" if all were.
    """

    claim: ClaimSpec | str
    repeats: str
    observed: Observed
    out_of_reach: str = ""
    skipped: str = ""


def evidence(
    study: Study, groups: list[Group], wanted: Wanted, given: Paper | None = None
) -> list[Evidence]:
    """Return what the trials say of each claim.

    A paper's claim that trials drawn from its own numbers would not show as reproduced, at the
    levels and with the packets of this study, is out of reach (`expected`).
    """
    if not wanted:
        return []
    # Without a paper's claim no paper is imported.
    known = claims(given) if any(isinstance(each, str) for each in wanted) else {}
    applied, _ = treated(groups)
    imagined = Imagined([design_of(group) for group in applied])
    repeats, skipped = source(study.record), _skipped(study)
    unknown = (given is None and not_installed(repeats)) or (
        f"this version knows no such claim; it knows {', '.join(known)}"
    )
    found: list[Evidence] = []
    for claim in wanted:
        if isinstance(claim, ClaimSpec):
            seen, reason = observe(claim_of(claim), groups), ""
        elif claim in known:
            seen, reason = _of_a_paper(*known[claim], groups, imagined)
        else:
            seen, reason = Observed(missing=unknown), ""
        found.append(
            Evidence(
                claim=claim, repeats=repeats, observed=seen, out_of_reach=reason, skipped=skipped
            )
        )
    return found


def derived(found: Sequence[Evidence], given: Paper | None = None) -> list[Finding]:
    """Return the verdict that each piece of evidence gives."""
    known = claims(given) if any(isinstance(each.claim, str) for each in found) else {}
    return [_derived(each, known) for each in found]


def source(study: StudyRecord) -> str:
    """Return the name of the paper that a study says it repeats, "" if it names none."""
    return str(study.spec.get("source", ""))


def not_installed(paper: str) -> str:
    """Return the note that the paper of a study is not installed, "" if it names none or is."""
    if not paper or paper in registry.installed():
        return ""
    missing = MISSING.format(shorten(paper, REASON))
    return f"{missing}: --paper FOLDER adds its claims, tables and figures"


def _of_a_paper(
    paper: Paper, claim: Claim, groups: list[Group], imagined: Imagined
) -> tuple[Observed, str]:
    """Return what trials say of a paper's claim, and the reason why they cannot test it."""
    seen = calls.observed(paper, claim, groups)
    if calls.decided(paper, claim, seen).verdict == "not testable here":
        return seen, ""
    return seen, out_of_reach(imagined.expected(paper, claim))


def _derived(evidence: Evidence, known: Claims) -> Finding:
    claim, seen, hardware = evidence.claim, evidence.observed, False
    if isinstance(claim, ClaimSpec):
        found = decide(claim_of(claim), seen)
    elif claim in known:
        paper, of_paper = known[claim]
        hardware = paper.on_hardware
        found = calls.decided(paper, of_paper, seen, evidence.out_of_reach)
    else:
        claimed_by = shorten(evidence.repeats, REASON) or UNKNOWN
        found = Finding(claim, claim, "", "not testable here", seen.missing, claimed_by=claimed_by)
    return replace(found, why=f"{found.why}{_also(found, evidence.skipped, hardware)}")


def _also(found: Finding, skipped: str, hardware: bool) -> str:
    if found.effect is None:
        return skipped
    if found.own:
        return OWN_EMULATED if found.emulated else ""
    testable = found.verdict != "not testable here"
    return PAPERS_EMULATED if found.emulated and hardware and testable else ""


def _skipped(study: Study) -> str:
    reasons = Counter(t.reason or "no reason recorded" for t in study.trials if t.status != "ok")
    if not reasons:
        return ""
    reason, n = reasons.most_common(1)[0]
    said = shorten(reason, REASON, placeholder=" …")
    return f". {reasons.total()} of {len(study.trials)} trials were not measured, {n} since: {said}"
