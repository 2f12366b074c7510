"""Round trips over time, outages and the slowest packets on the page."""

from __future__ import annotations

from delaylab.analysis.over_time.changes import NONE, Changes, may_have_changes
from delaylab.charts.over_time import over_time
from delaylab.dataset.store import Study
from delaylab.report.sections import outages, slowest
from delaylab.report.sections.section import Html, Report


def html(report: Report) -> Html:
    """Return the chart of RTTs over time, the outages and the slowest packets."""
    groups = report.groups
    chart = over_time(groups, _changes(report.study))
    values: dict[str, object] = {
        "chart": chart,
        "outages": outages.lines(groups),
        "outages_said": outages.NOTE,
        "slowest": slowest.rows(groups),
        "slowest_said": slowest.NOTE,
        "slowest_by_trial": slowest.by_trial(groups),
    }
    return Html(values, [chart] if chart else [])


def _changes(study: Study) -> Changes:
    """Return the changes by timelines of a study's labs."""
    if not may_have_changes(study):
        return NONE
    # The models of study files take long to import, and few studies have a timeline.
    from delaylab.analysis.over_time.timelines import changes  # noqa: PLC0415

    return changes(study)
