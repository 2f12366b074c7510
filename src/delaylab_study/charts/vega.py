"""Common parts of all charts: colours, axes, and rendering to SVG and PNG."""

from __future__ import annotations

import math
import re
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

from delaylab.api.drawing import FONT
from delaylab_study.charts.fitted import fit
from delaylab_study.charts.lazy import alt, vl_convert

# Colours of Okabe and Ito, which most colour-blind readers can tell apart, and two of Tol's.
KINDS = {
    "native": "#0072B2",
    "shared": "#009E73",
    "netns": "#D55E00",
    "xen": "#CC79A7",
    "lxc": "#E69F00",
    "docker": "#56B4E9",
    "qemu": "#882255",
    "uml": "#999933",
}
LOADS = {
    "rest": "#7a8088",
    "cpu": "#E69F00",
    "io": "#56B4E9",
    "disk": "#009E73",
    "memory": "#CC79A7",
    "network": "#D55E00",
}
OTHER = "#0072B2"
INK = "#20242a"

LEADS = re.compile(r'<a xlink:href="[^"]*#([a-z0-9-]+)"')
"""A mark that leads to a place of the page; the renderer makes an address of its own of it."""
_NUMBERS = count()

Row = dict[str, Any]
"""One row of a chart's data."""
Rows = list[Row]


@dataclass
class Chart:
    """A chart with its title and caption; `spec` is the chart in Vega-Lite.

    `drawn` is the chart as SVG if a second process draws it.
    """

    name: str
    title: str
    caption: str
    spec: Row = field(repr=False)
    drawn: Future[bytes] | None = field(default=None, repr=False, compare=False)

    @property
    def svg(self) -> str:
        """Return the chart as SVG. It takes 0.1 s to draw, and is drawn only when asked for."""
        return LEADS.sub("<a", self._svg)

    @cached_property
    def _svg(self) -> str:
        if self.drawn is not None:
            return self.drawn.result().decode()
        return str(vl_convert.vegalite_to_svg(self.spec))

    def fitted(self, width: float) -> str:
        """Return the chart as SVG of this width in px; raise TooNarrow if it has no room."""
        return LEADS.sub("<a", fit(self.spec, width))

    @property
    def inline(self) -> str:
        """Return the SVG with the page's own text colour as its ink.

        A mark that leads to a place of the page has a name, by which that place leads back to it.
        """
        named = LEADS.sub(r'<a id="dot-\1" xlink:href="#\1"', self._svg)
        return named.replace(INK, "currentColor")


def to_png(svg: str, scale: float = 2) -> bytes:
    """Return an SVG drawing as a PNG on white."""
    return bytes(vl_convert.svg_to_png(on_white(svg), scale=scale))


def on_white(svg: str) -> str:
    """Return an SVG drawing with a white ground, for a file that is looked at by itself."""
    return svg.replace(">", '><rect width="100%" height="100%" fill="#ffffff"/>', 1)


class _Named(str):
    """The name of a chart's rows that has the rows with it.

    Altair copies and checks a chart's data each time that the chart changes, which took most of a
    report's time, so a chart has the name alone until it is rendered.
    """

    rows: Rows


def inline(rows: Rows) -> alt.NamedData:
    """Return rows as a chart's own data; unlike a data frame, they may be of any number."""
    name = _Named(f"rows-{next(_NUMBERS)}")
    name.rows = rows
    return alt.NamedData(name)


def seen(rows: Rows, field: str) -> list[Any]:
    """Return the values of a field, each once, in their order of appearance."""
    return list(dict.fromkeys(row[field] for row in rows))


def _datasets(spec: object) -> dict[str, Rows]:
    """Return the rows of all data that a chart refers to by name."""
    if isinstance(spec, list):
        return {name: rows for each in spec for name, rows in _datasets(each).items()}
    if not isinstance(spec, dict):
        return {}
    found = {name: rows for each in spec.values() for name, rows in _datasets(each).items()}
    data = spec.get("data")
    name = data.get("name") if isinstance(data, dict) else None
    return {**found, name: name.rows} if isinstance(name, _Named) else found


def delay_ticks(values: list[float] | None = None) -> alt.Axis:
    """Return an axis of delays in µs with the given ticks, or with one tick per decade."""
    text = "datum.value >= 1000 ? datum.value / 1000 + ' ms' : datum.value + ' µs'"
    ticks = values or [10.0**decade for decade in range(-1, 7)]
    return alt.Axis(labelExpr=text, values=ticks, labelOverlap="greedy")


def ticks_between(least: float, most: float) -> list[float]:
    """Return ticks for a logarithmic axis of positive values.

    They are at each decade, at 1, 2 and 5 of few decades, or at even distances where fewer than
    three of those lie between the values.
    """
    wide = least <= 0 or most / least >= 100
    ticks = [n * 10.0**decade for decade in range(-1, 7) for n in ((1,) if wide else (1, 2, 5))]
    if wide or most <= least or sum(least <= tick <= most for tick in ticks) >= 3:
        return ticks
    at_most = (most - least) / 3
    # The logarithm is rounded: just below a power of ten it may be that of the power.
    decade = 10.0 ** math.floor(math.log10(at_most))
    step = next(n * decade for n in (5, 2, 1, 0.5) if n * decade <= at_most)
    first, last = math.ceil(least / step), math.floor(most / step)
    return [round(number * step, 9) for number in range(first, last + 1)]


def ticks_of(rows: Rows, *fields: str) -> list[float]:
    """Return ticks for a logarithmic axis of some fields; rows may be without a value."""
    values = [value for row in rows for field in fields if (value := row.get(field)) is not None]
    return ticks_between(min(values, default=0), max(values, default=0))


def ticks_of_panels(rows: Rows, panel: str, *fields: str) -> list[float]:
    """Return ticks of panels that have a scale each; `panel` is the field that tells them apart."""
    panels: dict[object, Rows] = {}
    for row in rows:
        panels.setdefault(row[panel], []).append(row)
    return sorted({tick for own in panels.values() for tick in ticks_of(own, *fields)})


def delay_scale() -> alt.Scale:
    """Return a logarithmic scale for delays."""
    return alt.Scale(type="log", nice=False)


def delay_axis(title: str, rows: Rows) -> alt.X:
    """Return a logarithmic axis of delays, for the field `us`; the title says of which."""
    axis = delay_ticks(ticks_of(rows, "us"))
    return alt.X("us:Q", title=title, scale=delay_scale(), axis=axis)


def colour(field: str, seen: list[str], known: dict[str, str], title: str) -> alt.Color:
    """Return the colours of a field's values, those of `known` where a value has one there."""
    colours = [known.get(name, OTHER) for name in seen]
    return alt.Color(f"{field}:N", title=title, scale=alt.Scale(domain=seen, range=colours))


def setup_colours(names: list[str]) -> dict[str, str]:
    """Return a colour for each setup: that of its kind, or the next free one if that is taken."""
    free = [*KINDS.values()]
    found: dict[str, str] = {}
    for name in names:
        wanted = KINDS.get(name.partition(",")[0], OTHER)
        if wanted in found.values():
            wanted = next((each for each in free if each not in found.values()), wanted)
        found[name] = wanted
    return found


def render(name: str, title: str, caption: str, chart: alt.TopLevelMixin) -> Chart:
    """Return a chart in the page's style."""
    spec = chart.to_dict()
    spec["config"] = _styled(spec.get("config", {}))
    spec["datasets"] = {**spec.get("datasets", {}), **_datasets(spec)}
    return Chart(name, title, caption, spec)


def _styled(config: Row) -> Row:
    """Return a chart's configuration with the page's style."""
    ink = {"labelColor": INK, "titleColor": INK}
    style: dict[str, Row] = {
        "axis": {
            **ink,
            "domainColor": INK,
            "tickColor": INK,
            "gridColor": INK,
            "gridOpacity": 0.12,
            "domainOpacity": 0.5,
            "titleFontWeight": 500,
            "labelFontSize": 11,
            "titleFontSize": 12,
        },
        "legend": {
            **ink,
            "titleFontWeight": 600,
            "symbolStrokeWidth": 3,
            "labelFontSize": 12,
            "titleFontSize": 12,
        },
        "header": {"labelColor": INK},
        "title": {"color": INK, "fontSize": 12},
        "view": {"stroke": None},
    }
    parts = {name: {**config.get(name, {}), **part} for name, part in style.items()}
    whole = {"background": "transparent", "font": FONT}
    return {**config, **whole, **parts}
