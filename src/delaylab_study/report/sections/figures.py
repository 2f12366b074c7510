"""Charts of delays, or of the paper that the study repeats."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab_study.charts.delays import all_charts
from delaylab_study.papers import calls
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report


def section(report: Report) -> v.Section:
    """Return the paper's charts; those of any study if it repeats none."""
    return v.Section("figures", [*_parts(report)])


def _parts(report: Report) -> Iterator[v.Part]:
    paper = report.repeated.paper
    # The figures of any study are of packets. A paper's own may be of work alone.
    charts = calls.charts(paper, report.groups) if paper else all_charts(report.probed)
    if not charts:
        return
    if paper:
        yield v.Heading(f"Figures after {paper.short}, of this machine", 2)
        yield v.note(f"Drawn as in {paper.citation} ({paper.name}), from the data of this study.")
    else:
        yield v.Heading("Delays under load", 2)
    yield v.Block([v.Charts(charts)], "charts")
