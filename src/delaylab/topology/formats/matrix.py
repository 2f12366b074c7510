"""Reader of a latency matrix: a CSV file whose first row and first column are the same names.

A cell is the delay from its row to its column. A mesh has a link for each pair. A star has a link
from each node to a core, with delays that come nearest to the matrix.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice

from delaylab.errors import BadInput
from delaylab.extras import needed
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.formats.shares import FittingLines, share
from delaylab.topology.model import Map
from delaylab.topology.numbers import doubt, scaled
from delaylab.topology.options import Options, Shape
from delaylab.topology.remarks import Oddity, Remarks
from delaylab.topology.source import Source, lines_that_count
from delaylab.topology.values import duration
from delaylab.units import Duration

NAME = "latency matrix"
MILLISECOND = 10**6
EMPTY = ("", "-", "x", "nan", "na", "n/a")
CORE = "core"
MOST_NAMES = 1000
NO_CELL = Oddity("pair has no delay: no link", "pairs have no delay: no link")
TWO_ROUND_TRIPS = Oddity(
    "pair has two round trips, one from each end: their mean counts",
    "pairs have two round trips, one from each end: their means count",
)


@dataclass(frozen=True, slots=True)
class _Cell:
    delay: Fraction
    """One-way delay in ns."""
    line: int


Cells = dict[tuple[str, str], _Cell]


def fits(text: str) -> FittingLines:
    """Return the share of rows whose first cell is a name of the first row, and that row itself."""
    lines = list(islice(lines_that_count(text), MOST_NAMES + 1))
    try:
        rows = [row for _, row in _rows(lines)]
    except csv.Error:
        return FittingLines(0, len(lines))
    if len(rows) < 2 or len(rows[0]) < 3:
        return FittingLines(0, len(lines))
    names = {cell.strip() for cell in rows[0][1:]}
    if rows[1][0].strip() not in names:
        return FittingLines(0, len(rows))
    found = share(lambda name: name in names, (row[0].strip() for row in rows[1:]))
    return FittingLines(found.fitting + 1, found.all + 1)


def read(source: Source, options: Options) -> Map:
    """Read the matrix as a mesh or a star."""
    if options.one_way is None:
        fix = "add --one-way or --round-trip"
        raise BadInput("a latency matrix does not say what its delays are", source.name, fix)
    build = Builder(source.lab, NAME, source.name)
    names, cells = _table(source, options, build.remarks)
    if options.shape == Shape.STAR:
        _star(names, cells, build)
    else:
        _mesh(names, cells, build, one_way=options.one_way)
    return build.finish()


def _rows(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that have a cell, each with its last line; raise csv.Error at another one."""
    reader = csv.reader(lines, delimiter=_separator(lines))
    yield from ((reader.line_num, row) for row in reader if any(row))


def _separator(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return max(";\t,", key=first.count)


def _table(source: Source, options: Options, remarks: Remarks) -> tuple[dict[str, int], Cells]:
    """Return the lines of the names, and the cells."""
    rows: list[tuple[int, list[str]]] = []
    try:
        rows += _rows(source.lines())
    except csv.Error as error:
        last = rows[-1][0] if rows else 0
        what = f"not CSV: {error}; the last row that can be read ends in line {last}"
        raise BadInput(what, source.name) from None
    if not rows:
        raise BadInput("the table is empty", source.name)
    head = [cell.strip() for cell in rows[0][1][1:]]
    while head and not head[-1]:
        head.pop()
    if len(head) > MOST_NAMES:
        raise BadInput(f"the matrix has {len(head)} names, which is too many", f"{source.name}:1")
    again = next((name for name, times in Counter(head).items() if times > 1), None)
    if again is not None:
        raise BadInput(f"the first row names {again[:40]!r} twice", f"{source.name}:{rows[0][0]}")
    remarks.say(
        f"delays are {'one-way' if options.one_way else 'round trips, half of them each way'}, "
        f"in {options.delay_unit or 'ms'} where they have no unit"
    )
    # Cells are separated by `;` where a comma is the decimal mark.
    decimals = _separator(source.lines()) == ";"
    names = dict.fromkeys(head, rows[0][0])
    cells: Cells = {}
    for line, row in rows[1:]:
        name = row[0].strip()
        if name not in names:
            remarks.problem(line, f"{name[:40]!r} is not in the first row: left out")
            continue
        names[name] = line
        for other, text in zip(head, row[1:], strict=False):
            cell = text.strip().replace(",", ".") if decimals else text.strip()
            _add_cell(cells, (name, other), cell, line, options, remarks)
    return names, cells


def _add_cell(
    cells: Cells,
    pair: tuple[str, str],
    text: str,
    line: int,
    options: Options,
    remarks: Remarks,
) -> None:
    if text.lower() in EMPTY or pair[0] == pair[1]:
        return
    found = _nanoseconds(text, options)
    if found is None:
        remarks.problem(
            line, f"expected a delay to {pair[1][:40]!r}, got {text[:40]!r}{doubt(text)}"
        )
    else:
        cells[pair] = _Cell(found if options.one_way else found / 2, line)


def _nanoseconds(text: str, options: Options) -> Fraction | None:
    unit = int(options.delay_unit or MILLISECOND)
    value = scaled(duration(text, unit), 1)
    return None if value is None else Fraction(value)


def _mesh(names: dict[str, int], cells: Cells, build: Builder, *, one_way: bool) -> None:
    for name, line in names.items():
        build.node(name, line=line, label=name, forwards=False)
    for a, b in combinations(names, 2):
        there, back = cells.get((a, b)), cells.get((b, a))
        known = [cell for cell in (there, back) if cell is not None]
        if not known:
            build.remarks.count(NO_CELL, names[a])
            continue
        if not one_way and len(known) == 2 and known[0].delay != known[1].delay:
            build.remarks.count(TWO_ROUND_TRIPS, known[1].line)
            known = [_Cell((known[0].delay + known[1].delay) / 2, known[0].line)]
        build.edge(Edge(a=a, b=b, line=known[0].line, delay=round(known[0].delay), directed=True))
        build.edge(Edge(a=b, b=a, line=known[-1].line, delay=round(known[-1].delay), directed=True))


def _star(names: dict[str, int], cells: Cells, build: Builder) -> None:
    with needed("a star of a matrix"):
        import numpy as np  # noqa: PLC0415  a star alone needs it
        from scipy.optimize import nnls  # noqa: PLC0415

    order = {name: index for index, name in enumerate(names)}
    pairs = [(a, b) for a, b in cells]
    if not pairs:
        raise BadInput("there is no delay in the matrix", build.source)
    sums = np.zeros((len(pairs), len(order)))
    for row, (a, b) in enumerate(pairs):
        sums[row, order[a]] = sums[row, order[b]] = 1
    wanted = np.array([float(cell.delay) for cell in cells.values()])
    spokes, _ = nnls(sums, wanted)
    errors = np.abs(sums @ spokes - wanted)
    worst = int(errors.argmax())
    build.remarks.say(
        f"a star cannot have every delay of a matrix: the farthest off is {pairs[worst][0]} to "
        f"{pairs[worst][1]}, by {Duration(round(errors[worst] / 1000) * 1000)} of "
        f"{Duration(round(wanted[worst] / 1000) * 1000)} one way"
    )
    core = CORE if CORE not in names else "the-core"
    build.node(core, wanted=core)
    for name, line in names.items():
        build.node(name, line=line, label=name, forwards=False)
    for name, index in order.items():
        build.edge(Edge(a=core, b=name, line=names[name], delay=round(spokes[index] / 1000) * 1000))
