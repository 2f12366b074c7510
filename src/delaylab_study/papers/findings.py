"""Verdicts on a study's claims."""

from __future__ import annotations

from dataclasses import dataclass, replace

from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.store import Study
from delaylab_study.papers import registry
from delaylab_study.papers.evidence import Wanted, derived, evidence, not_installed, source
from delaylab_study.papers.loading import load
from delaylab_study.papers.paper import Paper

Later = Wanted
"""Claims that were chosen after the data: own ones, and the names of a paper's."""


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
    name, known = source(study), registry.installed()
    if name in known:
        return Repeated(load(known[name]))
    return Repeated(None, not_installed(name))


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

    If a claim has no effect and trials were skipped, its reason says so. If a claim was decided on
    virtual machines that were emulated in software, its reason says that.
    """
    record = study.record
    before = evidence(study, groups, named(record), given)
    after = evidence(study, groups, later, given)
    return [
        *derived(before, given),
        *(replace(each, after_data=True) for each in derived(after, given)),
    ]


def named(record: StudyRecord) -> Wanted:
    """Return the claims that a study names: its own as they are declared."""
    specs = {spec.claim: spec for spec in record.own_claims}
    return [specs.get(name, name) for name in record.claims]
