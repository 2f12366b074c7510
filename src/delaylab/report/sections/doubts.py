"""Doubts about the data, and trials that were not measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.dataset.intact import trial_of
from delaylab.dataset.records.doubts import Doubt
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.store import Study, resume_command
from delaylab.io.printable import one_line, printable
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report

# Largest number of doubts of one kind that the terminal prints in full.
SHOWN = 2


@dataclass(frozen=True, slots=True)
class DoubtsOfAKind:
    """Doubts of one kind: what was seen where, and the remedies."""

    kind: str
    seen: list[tuple[str, str]]
    remedies: list[str]


def terminal(report: Report, width: int) -> Iterator[Text]:
    """Yield the doubts with their remedies, then the trials that failed or never ran."""
    yield from _lines(report.groups)
    yield from _unfinished(report.study)


def study_json(report: Report) -> JsonObject:
    """Return the damaged trials, each by its folder and with what is wrong."""
    damaged = report.study.damaged
    return {
        "damaged": [
            {"trial": printable(trial_of(each)), "what": printable(each.what)} for each in damaged
        ]
    }


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the trial's doubts; those that were recorded, if it failed."""
    found = group.doubts if group else trial.warnings
    return {"warnings": [_json(each) for each in found]}


def html(report: Report) -> Html:
    """Return the doubts by kind, and the trials that failed or never ran."""
    return Html(
        {
            "kinds": doubts_by_kind(report.groups),
            "unfinished": [trial for trial in report.study.trials if trial.status != "ok"],
            "missing": missing_trials(report.study),
            "unreadable": unreadable(report.study),
        }
    )


def missing_trials(study: Study) -> list[str]:
    """Return the ids of planned trials that never ran."""
    ran = {trial.id for trial in study.trials} | {trial_of(each) for each in study.damaged}
    return [trial for trial in study.record.planned if trial not in ran]


def unreadable(study: Study) -> list[tuple[str, str]]:
    """Return the folder of each trial whose record is damaged, and why it cannot be read."""
    known = {trial.id for trial in study.trials}
    return [
        (printable(name), one_line(each.what))
        for each in study.damaged
        if (name := trial_of(each)) not in known
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


def _lines(found: list[Group]) -> Iterator[Text]:
    for doubts in doubts_by_kind(found):
        for label, message in doubts.seen[:SHOWN]:
            yield Text.assemble((doubts.kind, "yellow"), f" {label}: {message}")
        more = len(doubts.seen) - SHOWN
        if more > 0:
            yield Text(f"  and {more} more of this kind", "dim")
        for remedy in doubts.remedies[:SHOWN]:
            yield Text(f"  to do: {remedy}", "dim")


def _unfinished(study: Study) -> Iterator[Text]:
    for trial in study.trials:
        if trial.status != "ok":
            reason = trial.reason or "no reason recorded"
            yield Text.assemble((trial.status, "red"), f" {trial.id}: {reason}")
    for trial_id, why in unreadable(study):
        yield Text.assemble(("damaged", "red"), f" {trial_id}: {why}")
    missing = len(missing_trials(study))
    if missing:
        yield Text(f"not run: {missing} of {len(study.record.planned)} trials", "red")
        yield Text(f"  to do: {resume_command(study.directory)}", "dim")


def _json(doubt: Doubt) -> JsonObject:
    return {"kind": doubt.kind, "message": doubt.message, "remedy": doubt.remedy}
