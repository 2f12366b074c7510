"""Sections as what a terminal prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from rich import table as rich
from rich.console import Console
from rich.text import Text

from delaylab_study.report.value import Form, Line, Section, Table, Tone, Words
from delaylab_study.report.written import spans

WIDE = 100
"""Width of a terminal, in columns, below which tables are folded."""
STYLES: dict[Tone, str] = {
    "": "",
    "strong": "bold",
    "faint": "dim",
    "good": "green",
    "bad": "red",
    "open": "yellow",
}
OVERFLOW: dict[str, Literal["ellipsis", "fold"]] = {"cut": "ellipsis", "fold": "fold"}


def print_sections(console: Console, sections: Iterable[Section]) -> None:
    """Print sections."""
    for section in sections:
        for part in in_terminal(section, console.width):
            console.print(part)


def in_terminal(section: Section, width: int) -> Iterator[Text | rich.Table]:
    """Yield what a terminal of so many columns prints of a section."""
    form: Form = "wide" if width >= WIDE else "narrow"
    for part in section.on(form, width):
        if isinstance(part, Line):
            yield _text(part.words, part.tone)
        elif isinstance(part, Table):
            yield _table(part, form)


def _text(words: Words, tone: Tone = "") -> Text:
    parts = [(each.text, STYLES.get(each.tone, "")) for each in spans(words)]
    return Text.assemble(*parts, style=STYLES[tone])


def _table(table: Table, form: Form) -> rich.Table:
    more = len(table.rows) - (table.most or len(table.rows))
    rest = f" {more} more {table.more} are in the report." if more > 0 else ""
    made = rich.Table(
        title=Text(table.title, "italic"),
        caption=Text(table.caption + rest, "dim italic") if table.caption else None,
        title_justify="left",
        caption_justify="left",
        show_lines=table.lined,
    )
    for column in table.columns_on(form):
        made.add_column(
            Text(column.head),
            justify="right" if column.kind == "number" else "left",
            overflow=OVERFLOW.get(column.long, "ellipsis"),
            no_wrap=column.long == "whole",
            ratio=column.ratio,
            min_width=column.least,
        )
    for cells in table.shown(table.rows[: table.most], form):
        made.add_row(*(_text(cell.words) for _, cell in cells))
    if table.totals:
        made.add_section()
    for cells in table.shown(table.totals, form):
        made.add_row(*(_text(cell.words) for _, cell in cells), style="bold")
    return made
