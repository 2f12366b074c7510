"""Checks that loads did what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.treatments.check import TreatmentCheck, checks
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report

NOTE = "If a load did not act, its trials measured the machine at rest"
PROBED = (
    "; if a closed-loop probe did not wait for replies, it had another rate. Claims are judged "
    "only on trials in which both acted as configured."
)
NOT_PROBED = ". Claims are judged only on trials in which all loads acted as configured."
COLUMNS = (
    v.Column("trials", "label", key="trials", once=True),
    v.Column("check", "text"),
    v.Column("acted"),
)


def section(report: Report) -> v.Section:
    """Return a line for each check that failed, and where there are no packets for every check."""
    return v.Section("loads", [*_lines(report), *_page(report)])


def _lines(report: Report) -> Iterator[v.Line]:
    for group in report.groups:
        for check in checks(group):
            if not check.acted:
                said = f"{group.label}: {check.failure}: {check.text}"
                yield v.Line(said, "bad", on=v.TERMINAL)
            elif not group.probed:
                yield v.Line(f"load of {group.label} acted: {check.text}", "faint", on=v.TERMINAL)


def _page(report: Report) -> Iterator[v.Part]:
    rows = [_row(group, check) for group in report.groups for check in checks(group)]
    if rows:
        yield v.Heading("What the loads did", 2)
        yield v.note(NOTE + (PROBED if report.probed else NOT_PROBED))
        yield v.Table(COLUMNS, rows, key="loads", on=v.PAGE)


def _row(group: Group, check: TreatmentCheck) -> v.Row:
    said: v.Parts = (check.text, *v.unseen(*v.values(asdict(check))))
    return [group.label, said, v.Value("acted", check.acted)]


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the checks of the trial's loads."""
    return {"loads": [_json(check) for check in checks(group)] if group else []}


def _json(check: TreatmentCheck) -> JsonObject:
    return {
        "load": check.load,
        "check": check.quantity,
        "value": check.value,
        "least": check.least,
        "unit": check.unit,
        "acted": check.acted,
    }
