"""Record of what was run: versions, factors, and the trials with their loads and taps."""

from __future__ import annotations

from delaylab.report.provenance import whole
from delaylab.report.sections.section import Html, Report


def html(report: Report) -> Html:
    """Return the study's trials."""
    record, trials = report.study.record, report.study.trials
    described = [(*found, whole(found[1], trials)) for found in record.labelled.items()]
    return Html({"trials": trials, "described": described})
