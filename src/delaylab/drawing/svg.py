"""Graph of a lab as SVG."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab.drawing.layout import Graph, Link, Node
from delaylab.drawing.xml import xml
from delaylab.errors import BadInput

ROW, PAD, LANE, TITLE, GAP, STEP = 34, 16, 30, 26, 14, 20
# Width of a character of the labels, in pixels, at their size.
LETTER = 7.3
# Largest number of lanes that are drawn side by side.
MOST_LANES = 200
COLOURS = ("#0b6e8f", "#b3372a", "#1b7f4b", "#8a6a12", "#6a4c93", "#c2571a")
FONT = "system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif"


def svg(found: Graph) -> str:
    """Return the drawing as an SVG document that refers to nothing outside itself.

    Raise `BadInput` if too many links stand side by side.
    """
    if found.lanes > MOST_LANES:
        raise BadInput(
            f"{found.lanes} links side by side; at most {MOST_LANES} are drawn", found.lab
        )
    texts = [f"{n.name}  {n.about}" for nodes in found.hosts.values() for n in nodes]
    box = max(len(text) for text in [*texts, *found.hosts]) * LETTER + 4 * PAD
    middle: dict[int, float] = {}
    parts = [_text(PAD, PAD + 12, f"Lab {found.lab}", 'font-size="16" font-weight="700"')]
    top: float = PAD + TITLE
    for host, nodes in found.hosts.items():
        parts += _host(host, nodes, top, box)
        middle |= {n.row: top + TITLE + i * ROW + ROW / 2 - 3 for i, n in enumerate(nodes)}
        top += _height(nodes) + GAP
    parts += _lines(found, box, middle)
    for link in found.links:
        parts += _legend(link, top)
        top += STEP * (1 + len(link.conditions))
    said = [words for link in found.links for words in (link.legend, *link.conditions)]
    longest = max((len(words) for words in said), default=0)
    width = max(box + (found.lanes + 1) * LANE + 2 * PAD, longest * LETTER + 5 * PAD)
    height = top + PAD
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" font-family="{FONT}" '
        f'font-size="13"><title>Lab {xml(found.lab)}</title>'
        '<rect width="100%" height="100%" fill="#fff"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _height(nodes: list[Node]) -> float:
    return TITLE + ROW * len(nodes) + PAD / 2


def _host(host: str, nodes: list[Node], top: float, box: float) -> Iterator[str]:
    """Yield a host's box, with a box for each of its nodes."""
    yield _rect(PAD, top, box, _height(nodes), 'fill="#f5f6f7" stroke="#8a939c"')
    yield _text(2 * PAD, top + 18, host, 'font-weight="700"')
    end = 'text-anchor="end" fill="#5d6670"'
    for index, node in enumerate(nodes):
        y = top + TITLE + index * ROW
        yield _rect(2 * PAD, y, box - 2 * PAD, ROW - 6, 'fill="#fff" stroke="#dfe3e7"')
        yield _text(2.6 * PAD, y + ROW / 2 + 1, node.name, "")
        yield _text(box - 0.6 * PAD, y + ROW / 2 + 1, node.about, end)


def _lines(found: Graph, box: float, middle: dict[int, float]) -> Iterator[str]:
    """Yield a line from each node to its furthest link, and then the links themselves."""
    place = {link.number: PAD + box + (link.lane + 1) * LANE for link in found.links}
    for row, y in middle.items():
        joined = [place[link.number] for link in found.links if row in link.rows]
        if joined:
            yield _line(box, y, max(joined), y, "#8a939c")
    for link in found.links:
        x, ends = place[link.number], [middle[row] for row in link.rows]
        yield f"<g><title>{xml('; '.join([link.legend, *link.conditions]))}</title>"
        yield _line(x, ends[0], x, ends[-1], _colour(link))
        for y in ends:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{_colour(link)}"/>'
            number = 'fill="#fff" font-size="10" text-anchor="middle"'
            yield _text(x, y + 3.5, str(link.number), number)
        yield "</g>"


def _legend(link: Link, top: float) -> Iterator[str]:
    style = f'fill="{_colour(link)}" font-weight="600"'
    yield _text(PAD, top + 12, f"{link.number}  {link.legend}", style)
    for index, words in enumerate(link.conditions, 1):
        yield _text(2.5 * PAD, top + 12 + STEP * index, words, 'fill="#20242a"')


def _colour(link: Link) -> str:
    return COLOURS[(link.number - 1) % len(COLOURS)]


def _line(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="2"/>'


def _rect(x: float, y: float, width: float, height: float, style: str) -> str:
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="6" {style}/>'


def _text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{xml(words)}</text>'
