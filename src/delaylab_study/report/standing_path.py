"""Drawing of the packet's way for a column of a paper: a line for each segment, from the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from delaylab.api.drawing import FONT, xml
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.quantiles import Summary, Tail
from delaylab_study.charts import words
from delaylab_study.charts.fitted import SMALLEST, TooNarrow, even
from delaylab_study.report.arrange import Panel, layer_names, segment_key, usual
from delaylab_study.report.packet_path import shade_of
from delaylab_study.report.row_labels import wrapped

LETTERS = 9.6
"""The size of letters in px, a little above 7 pt."""
LETTER = 5.3
"""The width of a letter in px."""
CELL, NAMES, EDGE = 50, 112, 2
"""The least width of a group's column, and that of the segments' names, in px."""
LINE, HIGH = 10.0, 21.5
"""The distance of lines of words, and the height of a segment's line, in px."""
ARROWS = {"request": "→", "reply": "←", "turn": "↔"}


def standing(panel: Panel, width: float) -> str:
    """Return the drawing as SVG of this width in px; raise TooNarrow without room for a group.

    A column is a group, a cell has the median and the panel's tail of a segment, one way. Groups
    that have no room next to each other stand below each other.
    """
    beside = int((width - NAMES - EDGE) // CELL)
    if beside < 1:
        raise TooNarrow(NAMES + CELL + EDGE)
    parts: list[str] = []
    top = LINE
    said = f"median over {panel.tail}; segments one way, RTT round trip"
    parts.append(_text(0, top, said, opacity=0.75))
    pairs = [*zip(panel.groups, panel.labels, strict=True)]
    beside = even(len(pairs), beside)
    for first in range(0, len(pairs), beside):
        block, top = _block(pairs[first : first + beside], panel, width, top + LINE)
        parts += block
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{top:.0f}" '
        f'viewBox="0 0 {width:.0f} {top:.0f}" font-family="{FONT}" font-size="{LETTERS}">'
        f"<title>The packet's way, {xml(panel.heading)}</title>{''.join(parts)}</svg>"
    )


def _block(
    pairs: Sequence[tuple[Group, str]], panel: Panel, width: float, top: float
) -> tuple[list[str], float]:
    """Return the lines of some groups, and where they end."""
    groups = [group for group, _ in pairs]
    column = (width - NAMES - EDGE) / len(pairs)
    heads = [wrapped(label or panel.title, int(column / LETTER) - 1) for _, label in pairs]
    parts: list[str] = []
    for index, lines in enumerate(heads):
        x = NAMES + column * (index + 0.5)
        for line, text in enumerate(lines):
            parts.append(_text(x, top + LINE * (line + 1), text, anchor="middle", weight="600"))
    top += LINE * max(map(len, heads)) + 6
    names = layer_names(groups)
    rows = [("user RTT", [group.rtt.get("app") for group in groups])]
    for key, name in names.items():
        found = [
            next((part.delay for part in usual(group) if segment_key(part) == key), None)
            for group in groups
        ]
        rows.append((f"{ARROWS.get(key[0], '')} {name}", found))
    for name, delays in rows:
        lines = wrapped(name, int(NAMES / LETTER))[:2]
        for line, text in enumerate(lines):
            y = top + HIGH / 2 + LETTERS / 3 + LINE * (line - (len(lines) - 1) / 2)
            parts.append(_text(0, y, text))
        for index, delay in enumerate(delays):
            if delay is not None:
                parts += _cell(NAMES + column * index, top, column, delay, panel.tail)
        top += HIGH
    return parts, top + 4


def _cell(x: float, top: float, width: float, delay: Summary, tail: Tail) -> Iterator[str]:
    fill, ink = shade_of(delay.median)
    yield (
        f'<rect x="{x + 1:.1f}" y="{top + 1:.1f}" width="{width - 2:.1f}" height="{HIGH - 2:.1f}" '
        f'rx="3" fill="{fill}"/>'
    )
    middle = top + HIGH / 2
    for text, y in ((delay.median, middle - 1.4), (delay.tail(tail), middle + 8.2)):
        yield _text(x + width / 2, y, words.quantile(text), anchor="middle", ink=ink)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "400",
    ink: str = "#20242a",
    opacity: float = 1,
) -> str:
    size = max(LETTERS, SMALLEST)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{ink}" fill-opacity="{opacity}">{xml(text)}</text>'
    )
