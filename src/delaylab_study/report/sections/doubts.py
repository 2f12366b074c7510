"""Doubts about the data, and trials that were not measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from delaylab.api.files import JsonObject, one_line, printable
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.intact import trial_of
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study, resume_command
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report

# Largest number of doubts of one kind that the terminal prints in full.
SHOWN = 2
# Largest number of them that the page shows before a reader unfolds the rest.
ON_PAGE = 6
HEADING = v.Heading("Doubts about the data", 2)


@dataclass(frozen=True, slots=True)
class DoubtsOfAKind:
    """Doubts of one kind: what was seen where, and the remedies."""

    kind: str
    seen: list[tuple[str, str]]
    remedies: list[str]


def section(report: Report) -> v.Section:
    """Return the doubts with their remedies, then the trials that failed or never ran."""
    kinds = doubts_by_kind(report.groups)
    doubts = [part for each in kinds for part in _kind(each)] or [v.note("None.")]
    return v.Section("warnings", [HEADING, *doubts, *_unfinished(report.study)])


def study_json(report: Report) -> JsonObject:
    """Return the damaged trials, each by its folder and with what is wrong."""
    damaged = report.study.damaged
    return {
        "damaged": [
            {"trial": printable(trial_of(damage)), "what": printable(damage.what)}
            for damage in damaged
        ]
    }


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the trial's doubts; those that were recorded, if it failed."""
    found = group.doubts if group else trial.warnings
    fields = {"kind", "message", "remedy"}
    return {"warnings": [each.model_dump(include=fields) for each in found]}


def missing_trials(study: Study) -> list[str]:
    """Return the ids of planned trials that never ran."""
    ran = {trial.id for trial in study.trials} | {trial_of(each) for each in study.damaged}
    return [trial for trial in study.record.planned if trial not in ran]


def unreadable(study: Study) -> list[tuple[str, str]]:
    """Return the folder of each trial whose record is damaged, and why it cannot be read."""
    known = {trial.id for trial in study.trials}
    return [
        (printable(name), one_line(damage.what))
        for damage in study.damaged
        if (name := trial_of(damage)) not in known
    ]


def doubts_by_kind(groups: list[Group]) -> list[DoubtsOfAKind]:
    """Return the groups' doubts by kind; each is a pair of the group's label and a message."""
    together: dict[str, DoubtsOfAKind] = {}
    for group in groups:
        for doubt in group.doubts:
            kind = str(doubt.kind)
            alike = together.setdefault(kind, DoubtsOfAKind(kind, [], []))
            alike.seen.append((group.label, doubt.message))
            if doubt.remedy and doubt.remedy not in alike.remedies:
                alike.remedies.append(doubt.remedy)
    return list(together.values())


def _kind(doubts: DoubtsOfAKind) -> Iterator[v.Part]:
    for label, message in doubts.seen[:SHOWN]:
        yield v.Line((v.Span(doubts.kind, "open"), f" {label}: {message}"), on=v.TERMINAL)
    more = len(doubts.seen) - SHOWN
    if more > 0:
        yield v.Line(f"  and {more} more of this kind", "faint", on=v.TERMINAL)
    for remedy in doubts.remedies[:SHOWN]:
        yield v.Line(f"  to do: {remedy}", "faint", on=v.TERMINAL)
    seen = [
        v.Line((v.Span(label, "strong"), f": {said}"), style="entry") for label, said in doubts.seen
    ]
    parts: list[v.Part] = [*seen[:ON_PAGE]]
    if len(seen) > ON_PAGE:
        parts.append(v.unfolded(f"and {len(seen) - ON_PAGE} more", seen[ON_PAGE:]))
    if doubts.remedies:
        parts.append(v.Line(f"What to do: {'; or '.join(doubts.remedies)}.", style="small"))
    yield v.Noticed(doubts.kind, f"{len(seen)} times" if len(seen) > 1 else "", parts)


def _unfinished(study: Study) -> Iterator[v.Part]:
    found = [
        (trial.status, trial.id, trial.reason or "no reason recorded")
        for trial in study.trials
        if trial.status != "ok"
    ]
    for status, trial_id, why in [*found, *(("damaged", *each) for each in unreadable(study))]:
        yield v.Line((v.Span(status, "bad"), f" {trial_id}: {why}"), on=v.TERMINAL)
        yield v.Noticed(status, f"{trial_id}: {why}")
    missing = missing_trials(study)
    if missing:
        said = f"not run: {len(missing)} of {len(study.record.planned)} trials"
        yield v.Line(said, "bad", on=v.TERMINAL)
        yield v.Line(f"  to do: {resume_command(study.directory)}", "faint", on=v.TERMINAL)
        yield v.Noticed("not run", "; ".join(missing))
