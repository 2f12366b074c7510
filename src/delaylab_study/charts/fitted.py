"""Drawings for print: laid out anew for the width of a column, with letters of 7 pt or more."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from itertools import count
from math import ceil, floor
from typing import Any

from delaylab_study.charts.lazy import vl_convert

PX_PER_MM = 96 / 25.4
SMALLEST = 7 * 96 / 72
"""The size of the smallest letters, in px: 7 pt."""
LABELS, TITLES = 9.4, 9.8
"""The sizes of the numbers on axes, and of all words, in px."""
LETTER = 5.2
"""The width of a letter of a title, in px."""
NAMES = 0.33
"""The largest share of the width for a name on an axis."""
NARROWEST = 70
"""The smallest width of a panel, in px."""
FLAT = 0.5
"""The largest height of a panel, as a share of its width."""
LOWEST = 80
HIGHEST_MM = 240.0
"""The height of a page of a paper, in mm, which no drawing should be above."""
LEAST_LOWER, LOWERED = 0.3, 6
TITLE_OF_LOW, LETTERS_OF_LOW, SPACING_OF_LOW = 44, 9.4, 4
"""The smallest share of a panel's height that it is made, and the number of tries."""
LEGEND_COLUMNS = (4, 3, 2, 1)
SIGN = 30
"""The room of a sign in a legend, with its gaps, in px."""
SLACK, STEP = 4, 1.5
"""The width by which a drawing may be smaller than it should be before it is enlarged, and the
difference of panels that is not worth another try, in px."""
AXES, GUESSES = 60, 5
"""The width of a drawing without its panels that is tried first, in px, and the number of widths
that are tried before the range is halved."""
FACET, VIEW = 150, 220
"""The least room for a panel that shares its vertical axis with its neighbours, and for one with
axes of its own, in px."""
FONT = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"
SIZE = re.compile(r'(<svg\b[^>]*?) width="([\d.]+)" height="([\d.]+)"')
BOX = re.compile(r'(<svg\b[^>]*?) viewBox="0 0 ([\d.]+) ([\d.]+)"')
MM = re.compile(r'(width|height)="([\d.]+)mm"')
LETTERS = re.compile(r'font-size[:=]\s*"?([\d.]+)')
Spec = dict[str, Any]
"""A chart of Vega-Lite, or a part of one."""


class TooNarrow(Exception):
    """The error for letters smaller than 7 pt; `least` is the width that a drawing needs.

    It is in px.
    """

    def __init__(self, least: float) -> None:
        super().__init__(f"needs {ceil(least / PX_PER_MM)} mm")
        self.least = least


def fit(spec: Spec, width: float) -> str:
    """Return a chart as SVG of this width in px; raise TooNarrow if its panels have no room.

    Panels of one that is higher than a page are made lower, as far as they can be read.
    """
    for legend in LEGEND_COLUMNS:
        svg = _laid_out(spec, width, legend)
        if svg is None:
            continue
        lower = 1.0
        for _ in range(LOWERED):
            high = height_mm(sized(svg, width))
            if high <= HIGHEST_MM or lower <= LEAST_LOWER:
                break
            lower = max(LEAST_LOWER, lower * 0.94 * HIGHEST_MM / high)
            svg = _laid_out(spec, width, legend, lower) or svg
        return sized(svg, width)
    raise TooNarrow(width + NARROWEST)


def height_mm(svg: str) -> float:
    """Return the height of a drawing whose size is in mm."""
    return next(float(size[2]) for size in MM.finditer(svg) if size[1] == "height")


def _laid_out(spec: Spec, width: float, legend: int, lower: float = 1.0) -> str | None:
    """Return the chart with this many columns in its legend; None if it is too wide.

    Panels have this share of their usual height (`lower`).

    How wide a chart becomes is known only when it is drawn, which takes 0.2 s. Its width grows
    almost linearly with that of its panels, so the next width to try follows from the last two; the
    range in which the widest panels lie is halved where that leads out of it, and after some tries.
    """
    made = deepcopy(spec)
    made["config"] = _printed(made.get("config", {}), width, legend)
    if lower < 1:
        # The title of a low panel's axis may not be longer than the panel is high.
        made["config"]["axisY"] = {"titleLimit": TITLE_OF_LOW, "titleFontSize": LETTERS_OF_LOW}
        for part in _parts(made):
            if "spacing" in part:
                part["spacing"] = min(part["spacing"], SPACING_OF_LOW)
    _stack(made, width)
    beside, heights = _beside(made), [part.get("height") for part in _parts(made)]
    narrow, wide = float(NARROWEST), width / beside
    guess, grows = wide - AXES / beside, float(beside)
    best = before = None
    for tried in count():
        if wide - narrow <= STEP:
            return best
        halved = tried >= GUESSES or wide - narrow < 2 * STEP
        panel = (narrow + wide) / 2 if halved else min(max(guess, narrow + STEP), wide - STEP)
        _resize(made, panel, lower, heights)
        svg = vl_convert.vegalite_to_svg(made)
        size = SIZE.search(svg)
        assert size is not None
        found = float(size[2])
        if found > width:
            wide = panel
        else:
            narrow, best = panel, svg
            if found > width - SLACK:
                return best
        if before is not None and (found - before[1]) * (panel - before[0]) > 0:
            grows = (found - before[1]) / (panel - before[0])
        guess, before = panel + (width - SLACK / 2 - found) / grows, (panel, found)
    return best


def scaled(svg: str, width: float) -> str:
    """Return a drawing shrunk to this width; raise TooNarrow if its letters become too small."""
    box = BOX.search(svg)
    assert box is not None
    smallest = min(map(float, LETTERS.findall(svg)))
    least = float(box[2]) * SMALLEST / smallest
    if width < least:
        raise TooNarrow(least)
    return sized(svg, width)


def sized(svg: str, width: float) -> str:
    """Return a drawing whose size is in mm, for a width in px."""
    box = BOX.search(svg)
    assert box is not None
    height = width * float(box[3]) / float(box[2])
    mm = [f"{each / PX_PER_MM:.2f}mm" for each in (width, height)]
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*" height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg width="{mm[0]}" height="{mm[1]}"', 1)


def to_pdf(svg: str) -> bytes:
    """Return a drawing of a size in mm as a PDF of one page of that size."""
    # The renderer takes a px for a pt.
    in_pt = MM.sub(lambda size: f'{size[1]}="{float(size[2]) / 25.4 * 72:.3f}"', svg, count=2)
    return bytes(vl_convert.svg_to_pdf(in_pt))


def _printed(config: Spec, width: float, legend: int) -> Spec:
    """Return a chart's style for print: small letters of one size, the legend below."""
    words = {"labelFontSize": TITLES, "titleFontSize": TITLES}
    style: dict[str, Spec] = {
        "axis": {
            "labelFontSize": LABELS,
            "titleFontSize": TITLES,
            "titlePadding": 3,
            "labelLimit": NAMES * width,
        },
        "legend": {
            **words,
            "orient": "bottom",
            "columns": legend,
            "labelLimit": width - SIGN,
            "columnPadding": 8,
            "offset": 6,
        },
        "header": {**words, "labelLimit": width - 40, "labelPadding": 3},
        "title": {"fontSize": TITLES, "limit": width - 40},
        "text": {"fontSize": TITLES},
    }
    parts = {name: {**config.get(name, {}), **part} for name, part in style.items()}
    return {**config, **parts, "font": FONT, "padding": 2}


def _stack(spec: Spec, width: float) -> None:
    """Put panels below each other that have no room beside each other."""
    longest = max((len(title) for title in _titles(spec)), default=0)
    room = VIEW if any("concat" in part or "hconcat" in part for part in _parts(spec)) else FACET
    beside = max(1, floor(width / max(room, LETTER * longest + 40)))
    for part in _parts(spec):
        if "hconcat" in part and len(part["hconcat"]) > beside:
            part["concat"] = part.pop("hconcat")
            part["columns"] = even(len(part["concat"]), beside)
        elif ("facet" in part or "concat" in part) and "columns" in part:
            panels = len(_panels(spec, part))
            part["columns"] = even(panels, min(part["columns"], beside))
        for name in ("header", "encoding", "facet"):
            if isinstance(part.get(name), dict):
                _smaller(part[name])


def _smaller(part: object) -> None:
    """Remove sizes of letters that a chart sets itself: those of print hold."""
    if isinstance(part, dict):
        for name in ("labelFontSize", "titleFontSize", "fontSize"):
            part.pop(name, None)
        for each in part.values():
            _smaller(each)
    elif isinstance(part, list):
        for each in part:
            _smaller(each)


def _titles(spec: Spec) -> list[str]:
    """Return the titles of all horizontal axes."""
    channels = (part["encoding"].get("x", {}) for part in _parts(spec) if "encoding" in part)
    found = (x.get("title") for x in channels if isinstance(x, dict))
    return [title for title in found if isinstance(title, str)]


def _beside(spec: Spec) -> int:
    """Return the number of panels that stand beside each other."""
    facet = spec.get("facet")
    if isinstance(facet, dict) and "column" in facet:
        return len(_values(spec, facet["column"]))
    return int(spec["columns"]) if "columns" in spec else 1


def even(panels: int, most: int) -> int:
    """Return the number of panels in a row, at most so many, that leaves the last row fullest."""
    rows = ceil(panels / max(1, most))
    return ceil(panels / rows)


def _panels(spec: Spec, part: Spec) -> list[object]:
    """Return the panels of a chart that has some beside each other."""
    facet = part.get("facet")
    return _values(spec, facet) if isinstance(facet, dict) else part.get("concat", [None])


def _values(spec: Spec, channel: Spec) -> list[object]:
    """Return the values by which a chart is divided into panels, each once."""
    field = channel["field"]
    names = [part["data"]["name"] for part in _parts(spec) if "name" in part.get("data", {})]
    rows = (row for name in names for row in spec["datasets"].get(name, []))
    return list(dict.fromkeys(row[field] for row in rows if field in row)) or [None]


def _resize(spec: Spec, width: float, lower: float, heights: list[object]) -> None:
    """Give all panels a width; they become lower as they become narrower.

    `heights` are those that the chart has by itself, in the order of its parts.
    """
    for part, height in zip(_parts(spec), heights, strict=True):
        if isinstance(part.get("width"), int | float):
            part["width"] = round(width, 1)
            if isinstance(height, int | float):
                part["height"] = round(lower * min(height, max(LOWEST, FLAT * width)), 1)


def _parts(spec: Spec) -> list[Spec]:
    """Return a chart and all charts that it is made of."""
    found: list[Spec] = []

    def add(part: object) -> None:
        if isinstance(part, dict):
            found.append(part)
            for name in ("spec", "layer", "concat", "hconcat", "vconcat"):
                _each(part.get(name), add)

    add(spec)
    return found


def _each(part: object, call: Callable[[object], None]) -> None:
    for one in part if isinstance(part, list) else [part]:
        call(one)
