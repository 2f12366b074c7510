"""Round trips over time, outages and the slowest packets on the page."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab_study.analysis.over_time.changes import NONE, Changes, may_have_changes
from delaylab_study.charts.over_time import drawn_trials, over_time
from delaylab_study.dataset.store import Study
from delaylab_study.report import value as v
from delaylab_study.report.sections import outages, slowest
from delaylab_study.report.sections.section import Report

OPENS = (
    " Below a line, its slowest packet's stamps unfold. A ring in the drawing leads to its line."
)


def section(report: Report) -> v.Section:
    """Return the chart of RTTs over time, the outages and the slowest packets."""
    return v.Section("time", [*_parts(report)])


def _parts(report: Report) -> Iterator[v.Part]:
    groups = report.groups
    changes = _changes(report.study)
    chart, drawn = over_time(groups, changes), drawn_trials(groups, changes)
    said, found = outages.lines(groups), slowest.slowest(groups)
    if chart or said or found:
        yield v.Heading("Over time, and the slowest packets", 2)
    if chart:
        yield v.Charts([chart], wide=True)
    if said:
        yield v.Heading("Outages")
        yield v.note(outages.NOTE)
        yield from (v.Line(f"{line}.") for line in said)
    if found:
        yield v.Heading("The slowest packets")
        yield v.note((slowest.NOTE, OPENS))
        first = slowest.table(found, drawn=drawn)
        yield first
        each = [
            (group.label, [(group, packet) for packet in group.packets.slowest])
            for group in groups
            if group.packets and group.packets.slowest
        ]
        if len(each) > 1:
            tables = [
                (v.Heading(label), slowest.table(packets, drawn=drawn, named=first.anchors))
                for label, packets in each
            ]
            yield v.unfolded("The slowest of each", [part for pair in tables for part in pair])


def _changes(study: Study) -> Changes:
    """Return the changes by timelines of a study's labs."""
    if not may_have_changes(study):
        return NONE
    # The models of study files take long to import, and few studies have a timeline.
    from delaylab_study.analysis.over_time.timelines import changes  # noqa: PLC0415

    return changes(study)
