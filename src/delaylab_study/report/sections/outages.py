"""Outages: runs of packets without a reply, as sentences, and their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.over_time.outages import LEAST, Outage
from delaylab_study.charts import words
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report

SHOWN = 8
"""The largest number of outages that a report lists: the longest."""
NOTE = (
    f"An outage is a run of at least {LEAST} packets without a reply. It lasted at least from the "
    "first of them to the last, and at most from the reply before to the reply after."
)


def section(report: Report) -> v.Section:
    """Return a line for each of the longest outages."""
    found = [v.Line(f"outage: {line}", "open", on=v.TERMINAL) for line in lines(report.groups)]
    return v.Section("outages", found)


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the trial's outages; times in s."""
    found = group.packets.timelines if group and group.packets else []
    return {"outages": [asdict(each) for line in found for each in line.outages]}


def lines(groups: list[Group]) -> list[str]:
    """Return a sentence for each of the longest outages, the longest first."""
    found = sorted(_all(groups), key=lambda each: -each[1].least_s)
    said = [_sentence(where, outage) for where, outage in found[:SHOWN]]
    more = len(found) - SHOWN
    return [*said, f"{more} more outages were shorter"] if more > 0 else said


def _all(groups: list[Group]) -> Iterator[tuple[str, Outage]]:
    for group in groups:
        for line in group.packets.timelines if group.packets else []:
            for outage in line.outages:
                yield group.label_of(line.trial), outage


def _sentence(where: str, outage: Outage) -> str:
    return (
        f"{where}: out for {_length(outage)} from {words.seconds(outage.start_s)} on "
        f"({outage.packets} packets in a row without a reply)"
    )


def _length(outage: Outage) -> str:
    """Write how long an outage lasted: at least, and at most where that is known."""
    least = words.seconds(outage.least_s)
    if outage.most_s is None:
        return f"at least {least}"
    return f"{least} to {words.seconds(outage.most_s)}"
