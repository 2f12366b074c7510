"""Report of a study in the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from delaylab.analysis.analyse import Analysed, analysed
from delaylab.analysis.usable import usable
from delaylab.dataset.store import Study
from delaylab.papers.findings import Later
from delaylab.papers.paper import Paper
from delaylab.progress import Progress, silent
from delaylab.report.sections.registry import TERMINAL
from delaylab.report.sections.section import Report


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
        report = Report(found.study, found.groups, paper, later)
        return [part for section in TERMINAL for part in section.terminal(report, width)]
