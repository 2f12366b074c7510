"""Values that a report is made of.

A section makes them of what the analysis found, and knows of no form. The terminal and the page
show them, JSON and CSV have those of their tables (`data`), and none knows of a section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import nan
from typing import Literal, Protocol

from delaylab_study.analysis.statistics.needs import Needs
from delaylab_study.analysis.statistics.quantiles import Interval
from delaylab_study.charts.vega import Chart

Form = Literal["wide", "narrow", "page", "data"]
"""The place where a value is shown: a wide terminal, a narrow one, or the page; or none: data."""
Forms = tuple[Form, ...]
WIDE: Forms = ("wide",)
NARROW: Forms = ("narrow",)
TERMINAL: Forms = ("wide", "narrow")
PAGE: Forms = ("page",)
DATA: Forms = ("data",)
ALL: Forms = ("wide", "narrow", "page")
Tone = Literal["", "strong", "faint", "good", "bad", "open", "small", "paper", "sign"]
"""The look of words: their weight, or the judgement that they express."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words in a tone, in a line of others."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Swatches(Span):
    """A key of colours, in a line of words: each with its name, and True if it is a dark one."""

    steps: tuple[tuple[str, str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Link(Span):
    """Words that lead to another place of the page, by its name."""

    to: str = ""


UNKNOWN: Interval = (nan, nan)
"""The interval of a value that too few data carry."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a table, which is written where it is shown: in words by `written`, or as data.

    `key` is its name for scripts, `unit` also says how it is usually written, and `how` how else.
    `interval` is None where there can be none. `doubts` speak against it, or say why it is None;
    where it is a whole cell, they are what else is known. `needs` are the packets that it would
    take, if too few carry it.
    """

    key: str
    value: float | str | None
    unit: str = ""
    interval: Interval | None = None
    doubts: tuple[str, ...] = ()
    how: Callable[[Value], str] | None = None
    tone: Tone = ""
    needs: Needs | None = None

    @property
    def number(self) -> float:
        """Return the value as a number, NaN if it is none."""
        return self.value if isinstance(self.value, int | float) else nan


def values(found: Mapping[str, float | str | None], unit: str = "") -> tuple[Value, ...]:
    """Return values of one unit by their keys."""
    return tuple(Value(key, each, unit) for key, each in found.items())


def unseen(*values: Value) -> tuple[Value, ...]:
    """Return values for scripts alone: they stand with words or values that readers get."""
    return tuple(replace(each, how=lambda _: "") for each in values)


Parts = tuple[str | Span | Value, ...]
Words = str | Value | Parts
"""A line for a reader; what stands between backticks is code."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its words, what else is known (`hint`), and the columns that it covers."""

    words: Words
    hint: str = ""
    span: int = 1


Row = Sequence[Cell | Words | None]
"""A cell for each column of a table; None where a cell before covers the column."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    A `number` stands on the right; a `label` on the left, unbroken on the page; `text` on the left,
    broken where it is long; `flat` is text that may be as narrow as one word. In a terminal a
    column has at least `least` letters, and a share of the room that is left by its `ratio`. Words
    that are longer than a line are cut, `fold`ed, or stay `whole` and make the column wider. A cell
    that is as the one above it is left blank if the column has each `once`.

    `key` names the column's words for scripts; a `Value` in them has a key of its own.
    """

    head: str
    kind: Literal["number", "label", "text", "flat"] = "number"
    on: Forms = ALL
    ratio: int | None = None
    long: Literal["cut", "fold", "whole"] = "cut"
    least: int | None = None
    hint: str = ""
    key: str = ""
    once: bool = False


@dataclass(frozen=True)
class Part:
    """A part of a section; `on` are the forms that show it."""

    on: Forms = field(default=ALL, kw_only=True)


@dataclass(frozen=True)
class Line(Part):
    """A line of words. On the page it is a paragraph, a soft one (`note`), or a part of a doubt."""

    words: Words
    tone: Tone = ""
    style: Literal["line", "note", "brand", "doubted", "entry", "small"] = "line"


def note(words: Words) -> Line:
    """Return a soft line of the page."""
    return Line(words, style="note", on=PAGE)


@dataclass(frozen=True)
class Table(Part):
    """A table of rows.

    In a terminal it has a title and a caption, and the first rows alone if there are more than
    `most`, which the caption says of what there are `more`. `totals` are rows below a line. `lined`
    draws lines between all rows.

    Scripts get the rows by the table's `key`, each with the values that all of them `share`; one
    without a key repeats what another has. On the page, rows may have names by which links lead to
    them (`anchors`), and a part each that a reader unfolds (`opens`).
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    caption: str = ""
    totals: Sequence[Row] = ()
    most: int | None = None
    more: str = ""
    lined: bool = False
    key: str = ""
    share: Sequence[Value] = ()
    anchors: Sequence[str] = ()
    opens: Sequence[Block] = ()

    def columns_on(self, form: Form) -> list[Column]:
        """Return the columns that a form shows."""
        return [column for column in self.columns if form in column.on]

    def shown(self, rows: Iterable[Row], form: Form) -> Iterator[list[tuple[Column, Cell]]]:
        """Yield the cells of rows that a form shows, each with its first column."""
        above: dict[int, Cell] = {}
        for row in rows:
            found: list[tuple[Column, Cell]] = []
            for at, (column, made) in enumerate(zip(self.columns, row, strict=True)):
                if form not in column.on:
                    continue
                if made is None:
                    before, wide = found[-1]
                    found[-1] = before, replace(wide, span=wide.span + 1)
                    continue
                cell = made if isinstance(made, Cell) else Cell(made, _hint(made))
                blank = column.once and above.get(at) == cell
                found.append((column, Cell("") if blank else cell))
                above[at] = cell
            yield found


def _hint(words: Words) -> str:
    return "; ".join(words.doubts) if isinstance(words, Value) else ""


class Drawing(Protocol):
    """A drawing of the page that is also a file of its own."""

    @property
    def name(self) -> str:
        """Return the name of its file, without an ending."""

    @property
    def title(self) -> str:
        """Return what it shows, in words."""

    @property
    def svg(self) -> str:
        """Return the drawing."""

    def fitted(self, width: float) -> str:
        """Return the drawing as SVG of this width in px, with letters of 7 pt or more.

        Raise TooNarrow if they would be smaller.
        """


@dataclass(frozen=True)
class Lazy(Part):
    """Parts that are made when they are asked for, for a terminal's width in columns.

    Scripts have the tables of those that are on `data`.
    """

    parts: Callable[[int], Iterable[Part]]


def for_scripts(key: str, rows: Callable[[], Iterable[Iterable[Value]]]) -> Lazy:
    """Return a table for scripts alone, whose rows are made when they are asked for."""
    return Lazy(lambda _: [Table((), [[*row] for row in rows()], key=key)], on=DATA)


@dataclass(frozen=True)
class OnPage(Part):
    """A part that no terminal shows."""

    on: Forms = field(default=PAGE, kw_only=True)


@dataclass(frozen=True)
class Heading(OnPage):
    """A heading of a section, or of a part of it."""

    words: Words
    level: int = 3


@dataclass(frozen=True)
class Charts(OnPage):
    """Charts, `titled` or under a heading of their own; a narrow page scrolls `wide` ones."""

    charts: Sequence[Chart]
    titled: bool = True
    wide: bool = False


@dataclass(frozen=True)
class Picture(OnPage):
    """A drawing as SVG with the page's own colours; `drawing` is the same as a file, if any.

    `switch` are the names of statistics between which a reader switches, each with its words: the
    drawing's elements have the words or the colours of each as their `data-NAME`.
    """

    inline: Callable[[], str]
    drawing: Drawing | None = None
    switch: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Block(OnPage):
    """Parts that belong together.

    `look` says as what: they are side by side (`charts`, `claims`), in a `header`, or a reader
    unfolds them by a `summary`, which is `opened` if they are few.
    """

    parts: Sequence[Part]
    look: str = ""
    summary: str = ""
    opened: bool = False


def unfolded(
    summary: str, parts: Sequence[Part], *, opened: bool = False, when: bool = True
) -> Block:
    """Return parts that a reader unfolds; not `when` they are few."""
    return Block(parts, "unfolded" if when else "", summary, opened)


@dataclass(frozen=True)
class Noticed(OnPage):
    """A notice with a name: a doubt about the data, a trial that failed; `about` is whose it is."""

    name: str
    words: Words = ""
    parts: Sequence[Part] = ()
    about: str = ""


@dataclass(frozen=True)
class Judged(OnPage):
    """A verdict on a sentence; `quoted` is its source's own, and where that stands."""

    verdict: str
    words: Words
    quoted: tuple[str, str]
    effect: str
    emulated: bool
    published: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Items(OnPage):
    """A list of lines."""

    lines: Sequence[Words]


@dataclass(frozen=True)
class Terms(OnPage):
    """A list of names with what each stands for."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A large number at the top of the page."""

    value: str
    name: str
    note: str


@dataclass(frozen=True)
class Figures(OnPage):
    """Large numbers that sum up a report."""

    figures: Sequence[Figure]


@dataclass(frozen=True)
class Section:
    """A section of a report; a form that shows none of its parts leaves it out.

    A section of the page that has no `name` stands by itself, without a frame.
    """

    name: str
    parts: Sequence[Part]

    def on(self, form: Form, width: int = 0) -> list[Part]:
        """Return the parts that a form shows; `width` is that of the terminal in columns."""
        return [*_shown(self.parts, form, width)]

    @cached_property
    def page(self) -> list[Part]:
        """Return the parts of the page, whose charts take long to make."""
        return self.on("page")

    @property
    def drawings(self) -> Iterator[Drawing]:
        """Yield the drawings of the page."""
        return _drawings(self.page)


def _shown(parts: Iterable[Part], form: Form, width: int) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Lazy) and form in part.on:
            yield from _shown(part.parts(width), form, width)
        elif form in part.on:
            yield part


def _drawings(parts: Iterable[Part]) -> Iterator[Drawing]:
    for part in parts:
        if isinstance(part, Charts):
            yield from part.charts
        elif isinstance(part, Picture) and part.drawing is not None:
            yield part.drawing
        elif isinstance(part, Block | Noticed | Judged):
            yield from _drawings(part.parts)
