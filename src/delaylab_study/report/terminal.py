"""Report of a study in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table
from rich.text import Text

from delaylab.api.progress import Progress, silent
from delaylab_study.analysis.analyse import Analysed, analysed
from delaylab_study.analysis.usable import usable
from delaylab_study.dataset.store import Study
from delaylab_study.papers.findings import Later
from delaylab_study.papers.paper import Paper
from delaylab_study.report.rich_parts import in_terminal
from delaylab_study.report.sections.registry import TERMINAL
from delaylab_study.report.sections.section import Report


def study_parts(
    given: Path | Study | Analysed,
    width: int,
    paper: Paper | None = None,
    progress: Progress = silent,
    later: Later = (),
) -> list[Text | Table]:
    """Return a study to print: delay per layer and direction, work, claims, doubts with remedies.

    Nothing is said of packets if none were sent.

    `width` is the terminal's, in columns. `paper` is the paper to report instead of the one that
    the study names, `later` are claims that were chosen after the data. Raise `BadInput` for a
    damaged dataset.
    """
    found = analysed(given, progress)
    with usable(str(found.study.directory)):
        return [*parts_of(Report(found.study, found.groups, paper, later), width)]


def parts_of(report: Report, width: int) -> Iterator[Text | Table]:
    """Yield what a terminal of this width prints of a report."""
    for section in TERMINAL:
        yield from in_terminal(section(report), width)
