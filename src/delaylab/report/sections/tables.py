"""Tables of the paper that the study repeats."""

from __future__ import annotations

from delaylab.papers import calls
from delaylab.report.sections.section import Html, Report


def html(report: Report) -> Html:
    """Return the paper's tables."""
    paper = report.repeated.paper
    return Html({"tables": calls.tables(paper, report.groups) if paper else []})
