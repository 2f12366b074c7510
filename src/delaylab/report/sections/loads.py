"""Checks that loads did what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.analysis.treatments.check import TreatmentCheck, checks
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report


@dataclass(frozen=True, slots=True)
class CheckedLoads:
    """Group with loads, and the checks that these did what they stand for."""

    label: str
    checks: list[TreatmentCheck]


def terminal(report: Report, width: int) -> Iterator[Text]:
    """Yield a line for each check that failed; where there are no packets, for every check."""
    for group in report.groups:
        for check in checks(group):
            if not check.acted:
                yield Text(f"{group.label}: {check.failure}: {check.text}", "red")
            elif not group.probed:
                yield Text(f"load of {group.label} acted: {check.text}", "dim")


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the checks of the trial's loads."""
    return {"loads": [_json(check) for check in checks(group)] if group else []}


def html(report: Report) -> Html:
    """Return the checks of each group with loads."""
    found = ((group.label, checks(group)) for group in report.groups)
    return Html({"loads": [CheckedLoads(label, done) for label, done in found if done]})


def _json(check: TreatmentCheck) -> JsonObject:
    return {
        "load": check.load,
        "check": check.quantity,
        "value": check.value,
        "least": check.least,
        "unit": check.unit,
        "acted": check.acted,
    }
