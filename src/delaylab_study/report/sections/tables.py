"""Tables of the paper that the study repeats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from delaylab_study.charts import tables
from delaylab_study.papers import calls
from delaylab_study.papers.paper import Paper
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report

PAPERS = "The second line of a cell is the paper's own."
SHOWN = 24
"""The most rows that a terminal shows."""


def section(report: Report) -> v.Section:
    """Return the paper's tables."""
    paper = report.repeated.paper
    return v.Section("tables", [*_parts(report, paper)] if paper else [])


def _parts(report: Report, paper: Paper) -> Iterator[v.Part]:
    for number, table in enumerate(calls.tables(paper, report.groups)):
        if not number:
            yield v.Heading(f"Tables after {paper.short}, of this machine", 2)
        yield v.Heading(table.title)
        yield v.note(table.note)
        yield v.unfolded(f"All {len(table.rows)} rows", [_table(table)], when=table.many)
        here = f"{table.title} (after {paper.short}, of this machine)"
        yield replace(
            _table(table), title=here, caption=PAPERS, most=SHOWN, more="rows", on=v.TERMINAL
        )
        yield v.for_scripts("paper", partial(_values, table))


def _table(table: tables.Table) -> v.Table:
    columns = [
        v.Column(head, "flat" if 0 < at < table.texts else "number")
        for at, head in enumerate(table.head)
    ]
    return v.Table(columns, [[_cell(cell) for cell in row] for row in table.rows])


def _values(table: tables.Table) -> Iterator[tuple[v.Value, ...]]:
    """Yield each cell that is no name of a row: the words here, and the paper's."""
    for row in table.rows:
        names = ", ".join(written.plain(_cell(cell)) for cell in row[: table.texts])
        for head, cell in zip(table.head[table.texts :], row[table.texts :], strict=True):
            here, paper = (cell, None) if isinstance(cell, str) else cell
            where = {"table": table.title, "row": names, "column": head}
            yield v.values({**where, "here": here, "paper": paper})


def _cell(cell: str | tuple[str, str]) -> v.Words:
    return cell if isinstance(cell, str) else (cell[0], v.Span("\n"), v.Span(cell[1], "paper"))
