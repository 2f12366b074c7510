"""Labels of the rows of a drawing: each says all that it has to, in as many lines as that takes."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.api.drawing import xml

INK = "currentColor"
ROW = 44
"""The smallest height of a row: that of one whose label has two lines."""
LINES, LINE = 2, 11
MARGIN = 4
"""The space above and below a label of more lines."""
LETTERS = 12
"""The most letters of a label that is one line, in letters of its own size."""
LINE_LETTERS = 17
"""The most letters of a line of a longer label."""


def height(labels: Iterable[str]) -> float:
    """Return the height of rows with these labels."""
    more = max(len(_lines(label)) for label in labels) - LINES
    return ROW + (LINE * more + MARGIN if more > 0 else 0)


def label_of(label: str, count: str, middle: float) -> list[str]:
    """Return a row's label, in small lines if it is long, and below it the count of packets."""
    lines = _lines(label)
    size = 13.0 if len(label) <= LETTERS else 10.0
    below = LINE * max(0, len(lines) - LINES) / 2
    first = middle + below - 2 - (len(lines) - 1) * LINE
    said = [(line, first + i * LINE, size, 600, 1.0) for i, line in enumerate(lines)]
    said.append((count, middle + below + 13, 10.5, 400, 0.7))
    return [
        f'<text x="0" y="{y:.1f}" font-weight="{weight}" font-size="{size}" fill="{INK}" '
        f'fill-opacity="{opacity}">{xml(text)}<title>{xml(label)}</title></text>'
        for text, y, size, weight, opacity in said
    ]


def _lines(label: str) -> list[str]:
    """Return a row's label in lines, all of it: rows may differ in their last words alone."""
    if len(label) <= LETTERS:
        return [label]
    return [
        line[at : at + LINE_LETTERS]
        for line in wrapped(label, LINE_LETTERS)
        for at in range(0, len(line), LINE_LETTERS)
    ]


def wrapped(name: str, width: int) -> list[str]:
    """Return words in lines of so many letters; a longer word is a line of its own."""
    lines = [""]
    for word in name.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
