"""Tables of plain text, quick for thousands of rows, for which tables of rich take seconds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from delaylab.io.printable import one_line

_GAP = 2
_NARROWEST = 24
"""The narrowest that the last column becomes, in characters, however narrow the terminal is."""


def columns(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Return the lines of a table whose last column is folded, at spaces, to fit `width`.

    The first row has the titles. All rows have the same number of cells.
    """
    cells = [_one_lined(row) for row in rows]
    widths = [max(map(len, column)) + _GAP for column in zip(*cells, strict=True)][:-1]
    left = sum(widths)
    indent = " " * left
    room = max(width - left, _NARROWEST)
    padded = "".join(f"{{:<{wide}}}" for wide in widths)
    for row in cells:
        before = padded.format(*row)
        if len(row[-1]) <= room:
            yield (before + row[-1]).rstrip()
            continue
        folded = textwrap.wrap(row[-1], room, break_on_hyphens=False) or [""]
        yield before + folded[0]
        yield from (indent + line for line in folded[1:])


def _one_lined(row: Sequence[str]) -> Sequence[str]:
    """Return the cells of a row, each as one printable line."""
    # One look at a whole row takes a third of the time of one look at each cell.
    return row if one_line(whole := "".join(row)) == whole else [one_line(cell) for cell in row]
