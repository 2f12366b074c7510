"""Charts of delays, or of the paper that the study repeats."""

from __future__ import annotations

from delaylab.charts.delays import all_charts
from delaylab.papers import calls
from delaylab.report.sections.section import Html, Report


def html(report: Report) -> Html:
    """Return the paper's charts; those of any study if it repeats none."""
    paper = report.repeated.paper
    # The figures of any study are of packets. A paper's own may be of work alone.
    charts = calls.charts(paper, report.groups) if paper else all_charts(report.probed)
    return Html({"charts": charts}, charts)
