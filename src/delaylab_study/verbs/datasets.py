"""Verbs `delaylab show`, `report` and `compare`: a dataset's numbers, with progress meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from delaylab.api.files import JsonObject
from delaylab.api.terminal import bar, terminal
from delaylab_study.analysis.analyse import Analysed, analysed
from delaylab_study.dataset.store import Study
from delaylab_study.papers.findings import Later
from delaylab_study.papers.paper import Paper

if TYPE_CHECKING:
    from delaylab_study.analysis.compared.many import Comparison
    from delaylab_study.verbs.sides import Sides


def analysis_of(study: Study) -> Analysed:
    """Analyse a dataset once, for functions below that follow each other."""
    with bar(terminal(stderr=True)) as progress:
        return analysed(study, progress)


def joined_analysis_of(studies: Sequence[Study]) -> Analysed:
    """Analyse datasets of one study as one; raise BadInput for those of different studies."""
    from delaylab_study.analysis.joined import joined  # noqa: PLC0415  few join datasets

    with bar(terminal(stderr=True)) as progress:
        return joined(studies, progress)


def show(
    console: Console,
    study: Path | Study | Analysed,
    paper: Paper | None = None,
    later: Later = (),
) -> None:
    """Print a dataset's numbers; `paper` is the one to report instead of the study's own.

    `later` are claims that were chosen after the data.
    """
    from delaylab_study.report.terminal import study_parts  # noqa: PLC0415  tables are slow to import

    with bar(terminal(stderr=True)) as progress:
        parts = study_parts(study, console.width, paper, progress, later)
    for part in parts:
        console.print(part)


def numbers(study: Study | Analysed, paper: Paper | None, later: Later = ()) -> JsonObject:
    """Return a dataset's numbers, for scripts."""
    from delaylab_study.report.show import as_json  # noqa: PLC0415  as above

    with bar(terminal(stderr=True)) as progress:
        return as_json(study, paper, progress, later)


def table(study: Study | Analysed, name: str, paper: Paper | None, later: Later = ()) -> bytes:
    """Return a table of a dataset's report as CSV."""
    from delaylab_study.report.show import table_csv  # noqa: PLC0415  as above

    with bar(terminal(stderr=True)) as progress:
        return table_csv(study, name, paper, progress, later)


def latex(study: Study | Analysed, name: str, paper: Paper | None, later: Later = ()) -> bytes:
    """Return a table of a dataset's report as LaTeX."""
    from delaylab_study.report.show import table_latex  # noqa: PLC0415  as above

    with bar(terminal(stderr=True)) as progress:
        return table_latex(study, name, paper, progress, later)


def report(study: Study | Analysed, paper: Paper | None, later: Later = ()) -> Path:
    """Write a dataset's report; return its path."""
    from delaylab_study.report.html import write_report  # noqa: PLC0415  charts are slow to import

    with bar(terminal(stderr=True)) as progress:
        return write_report(study, paper, progress, later)


def compared(studies: Sequence[Study], given: Sides) -> Comparison:
    """Compare datasets, or levels of one factor of a dataset, each with the first.

    Raise `BadInput` for a factor or a level that the dataset does not have.
    """
    # `show` and `report` do not import the models of study files, which are compared, too.
    from delaylab_study.analysis.compared.many import compare_levels, compare_studies  # noqa: PLC0415

    with bar(terminal(stderr=True)) as progress:
        if given.factor:
            (study,) = studies
            return compare_levels(study, given.factor, given.levels, given.only, progress)
        return compare_studies(studies, progress)
