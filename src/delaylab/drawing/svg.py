"""The picture of a lab as SVG, and as a page with pan, zoom and search."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from delaylab.drawing.content_policy import policy_tag
from delaylab.drawing.font import FONT
from delaylab.drawing.picture import DrawnLine, Picture, Spot
from delaylab.drawing.xml import xml

SIZES = ((8, 210.0, 10.0), (40, 150.0, 9.0), (200, 110.0, 7.0), (500, 85.0, 5.0))
"""Numbers of nodes up to which a link has a length and a node a radius, in pixels."""
LARGE = (70.0, 4.0)
"""The same for more nodes."""
LETTER = 0.56
"""The width of a letter by its height."""
MARGIN, HEAD, FOOT, LEFT_OUT = 50.0, 30.0, 24.0, 12.0
BEND = 26.0
"""The distance between parallel links, in pixels."""
NODE, CONDITION, DEVICE = 12.0, 10.0, 9.0
"""The heights of labels by what they say."""
CELL = 64.0
"""The grain of the search for labels that overlap."""
STATES = {
    "": "#0b6e8f",
    "running": "#1b7f4b",
    "down": "#b3372a",
    "silent": "#c2571a",
}
"""The colours of states; another one is drawn as `down`."""
PLAIN = "#8a939c"
MANY = 200
"""The most nodes whose links are drawn with a wider line."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a place, and the places beside it where it may stand, the best one first."""

    words: str
    size: float
    kind: str
    spots: tuple[tuple[float, float, str], ...]


class _Taken:
    """Rectangles that are taken, in a grid, so that few are compared."""

    def __init__(self) -> None:
        self._cells = defaultdict[tuple[int, int], list[tuple[float, ...]]](list)

    def add(self, box: tuple[float, float, float, float]) -> None:
        for cell in self._of(box):
            self._cells[cell].append(box)

    def is_free(self, box: tuple[float, float, float, float]) -> bool:
        left, top, right, bottom = box
        return not any(
            left < other[2] and other[0] < right and top < other[3] and other[1] < bottom
            for cell in self._of(box)
            for other in self._cells[cell]
        )

    @staticmethod
    def _of(box: tuple[float, float, float, float]) -> Iterator[tuple[int, int]]:
        left, top, right, bottom = (int(edge // CELL) for edge in box)
        yield from ((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))


class Sheet:
    """A picture in pixels: where spots, lines and labels are."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        count = sum(not spot.hub for spot in picture.spots)
        self.length, self.radius = next((size for most, *size in SIZES if count <= most), LARGE)
        corners = [(box.left, box.top) for box in picture.boxes]
        corners += [(box.right, box.bottom) for box in picture.boxes]
        corners += [(spot.x, spot.y) for spot in picture.spots]
        self._left, self._top = (min(each[axis] for each in corners) for axis in (0, 1))
        right, bottom = (max(each[axis] for each in corners) for axis in (0, 1))
        # Long names at the right edge have room, too.
        longest = max((len(spot.name) for spot in picture.spots), default=0) * NODE * LETTER
        self.width = max(360.0, self.x(right) + max(MARGIN, longest))
        self.height = self.y(bottom) + MARGIN + FOOT

    def x(self, at: float) -> float:
        """Return a place across in pixels."""
        return MARGIN + (at - self._left) * self.length

    def y(self, at: float) -> float:
        """Return a place downwards in pixels."""
        return MARGIN + HEAD + (at - self._top) * self.length

    def of(self, spot: Spot) -> tuple[float, float]:
        """Return a spot's place in pixels."""
        return self.x(spot.x), self.y(spot.y)

    def along(self, line: DrawnLine, share: float) -> tuple[float, float]:
        """Return the place at a share of a line, which is bent as a curve of degree two."""
        (x, y), (to_x, to_y) = (self.of(self.picture.spots[end]) for end in line.ends)
        over_x, over_y = self.control(line)
        one, two, three = (1 - share) ** 2, 2 * share * (1 - share), share**2
        return one * x + two * over_x + three * to_x, one * y + two * over_y + three * to_y

    def control(self, line: DrawnLine) -> tuple[float, float]:
        """Return the point that bends a line."""
        (x, y), (to_x, to_y) = (self.of(self.picture.spots[end]) for end in line.ends)
        far = math.hypot(to_x - x, to_y - y) or 1.0
        aside = 2 * BEND * line.bend / far
        return (x + to_x) / 2 - (to_y - y) * aside, (y + to_y) / 2 + (to_x - x) * aside

    def labels(self) -> Iterator[Label]:
        """Yield all labels, the most important ones first: nodes by their links, then links."""
        degree = defaultdict[int, int](int)
        for line in self.picture.lines:
            for end in line.ends:
                degree[end] += 1
        order = sorted(range(len(self.picture.spots)), key=lambda i: (-degree[i], i))
        for spot in (self.picture.spots[i] for i in order):
            if not spot.hub:
                yield self._of_node(spot)
        for line in self.picture.lines:
            if line.conditions:
                yield self._at(line, 0.5, line.conditions, CONDITION, "condition")
        for line in self.picture.lines:
            if line.named:
                share = 0.4 if line.conditions else 0.5
                yield self._at(line, share, line.named, DEVICE, "device")
        for line in self.picture.lines:
            for share, device in zip((0.25, 0.75), line.devices, strict=True):
                if device:
                    yield self._at(line, share, device, DEVICE, "device")

    def _of_node(self, spot: Spot) -> Label:
        (x, y), off = self.of(spot), self.radius + 4
        middle = y + NODE / 3
        around = (
            (x, y + off + NODE * 0.8, "middle"),
            (x + off, middle, "start"),
            (x - off, middle, "end"),
            (x, y - off, "middle"),
        )
        return Label(spot.name, NODE, "node", around)

    def _at(self, line: DrawnLine, share: float, words: str, size: float, kind: str) -> Label:
        places = [self.along(line, at) for at in (share, share - 0.08, share + 0.08)]
        # On the line, or else above or below it.
        around = [(x, y + off * size, "middle") for off in (0.33, -0.5, 1.2) for x, y in places]
        return Label(words, size, kind, tuple(around))


def svg(picture: Picture) -> str:
    """Return the picture as an SVG document that refers to nothing outside itself.

    Labels that would overlap are left out, and a line says so.
    """
    sheet = Sheet(picture)
    shown, left_out = _without_overlaps(sheet)
    parts = [*_drawing(sheet), *shown]
    if left_out:
        many = _many(left_out, "label")
        words = f"{many} left out, which would overlap; --html FILE has all, by zoom"
        parts.append(_text(MARGIN, sheet.height - FOOT / 2, "start", words, LEFT_OUT, "note"))
    return "\n".join([_head(sheet), _style(), *parts, "</svg>"]) + "\n"


def page(picture: Picture) -> str:
    """Return the picture as an HTML page without anything outside itself."""
    sheet = Sheet(picture)
    labels = [
        _text(*label.spots[0][:2], label.spots[0][2], label.words, label.size, label.kind)
        for label in sheet.labels()
    ]
    drawing = "\n".join([_head(sheet), _style(), *_drawing(sheet), *labels, "</svg>"])
    template = files("delaylab.drawing").joinpath("page.html").read_text()
    # The policy is of the template's own script: a script in the drawing would not be allowed.
    template = template.replace("<!-- content policy -->", policy_tag(template))
    return template.replace("TITLE", xml(f"Lab {picture.lab}")).replace("<!-- drawing -->", drawing)


def _head(sheet: Sheet) -> str:
    size = f"{sheet.width:.0f} {sheet.height:.0f}"
    wide, high = size.split()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{wide}" '
        f'height="{high}" role="img" font-family="{FONT}">'
        f"<title>Lab {xml(sheet.picture.lab)}</title>"
        '<rect width="100%" height="100%" fill="#fff"/>'
    )


def _style() -> str:
    return (
        "<style>text{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}"
        ".node{fill:#20242a}.condition{fill:#5d4a00}.device,.note{fill:#5d6670}"
        ".host,.head{font-weight:700}.host{fill:#5d6670}</style>"
    )


def _drawing(sheet: Sheet) -> Iterator[str]:
    """Yield all but the labels: title, boxes, lines, nodes."""
    found = sheet.picture
    nodes = sum(not spot.hub for spot in found.spots)
    links = len({line.link for line in found.lines})
    title = f"Lab {found.lab}: {_many(nodes, 'node')}, {_many(links, 'link')}"
    yield _text(MARGIN, HEAD, "start", title, 15, "head")
    for box in found.boxes:
        x, y = sheet.x(box.left), sheet.y(box.top)
        to_x, to_y = sheet.x(box.right), sheet.y(box.bottom)
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{to_x - x:.1f}" height="{to_y - y:.1f}" rx="8" '
            'fill="#f5f6f7" stroke="#c9ced3"/>'
        )
        yield _text(x + 8, y + 16, "start", box.host, NODE, "host")
    for line in found.lines:
        (x, y), (to_x, to_y) = (sheet.of(found.spots[end]) for end in line.ends)
        over_x, over_y = sheet.control(line)
        colour = STATES.get(line.state, STATES["down"]) if line.state else PLAIN
        dashed = ' stroke-dasharray="6 4"' if line.state else ""
        way = f"M{x:.1f} {y:.1f}Q{over_x:.1f} {over_y:.1f} {to_x:.1f} {to_y:.1f}"
        said = f"{line.title} ({line.state})" if line.state else line.title
        yield (
            f'<path class="link" d="{way}" fill="none" stroke="{colour}" '
            f'stroke-width="{1.6 if nodes <= MANY else 1:g}"{dashed}>'
            f"<title>{xml(said)}</title></path>"
        )
    for spot in found.spots:
        yield _spot(sheet, spot)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _spot(sheet: Sheet, spot: Spot) -> str:
    x, y = sheet.of(spot)
    if spot.hub:
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{PLAIN}"/>'
    colour = STATES.get(spot.state, STATES["down"])
    router = "router" in spot.about
    fill = colour if router or spot.state else "#fff"
    state = f", {spot.state}" if spot.state else ""
    return (
        f'<circle class="spot" data-name="{xml(spot.name)}" cx="{x:.1f}" cy="{y:.1f}" '
        f'r="{sheet.radius:g}" fill="{fill}" stroke="{colour}" stroke-width="2">'
        f"<title>{xml(f'{spot.name}: {spot.about}{state}')}</title></circle>"
    )


def _without_overlaps(sheet: Sheet) -> tuple[list[str], int]:
    """Return the labels that have a place of their own, and the number of the others."""
    taken = _Taken()
    for spot in sheet.picture.spots:
        x, y = sheet.of(spot)
        taken.add((x - sheet.radius, y - sheet.radius, x + sheet.radius, y + sheet.radius))
    shown, left_out = [], 0
    for label in sheet.labels():
        for x, y, anchor in label.spots:
            box = box_of(x, y, anchor, label.words, label.size)
            if taken.is_free(box):
                taken.add(box)
                shown.append(_text(x, y, anchor, label.words, label.size, label.kind))
                break
        else:
            left_out += 1
    return shown, left_out


def box_of(
    x: float, y: float, anchor: str, words: str, size: float
) -> tuple[float, float, float, float]:
    """Return the rectangle that a text takes."""
    wide = len(words) * size * LETTER
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return left, y - size * 0.85, left + wide, y + size * 0.25


def _text(x: float, y: float, anchor: str, words: str, size: float, kind: str) -> str:
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{at} font-size="{size:g}">{xml(words)}</text>'
    )
