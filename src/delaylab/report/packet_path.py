"""Drawing of the packet's way: stations in a row, below them each load's delay per segment."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log10

from delaylab.analysis.group import Group, SegmentSummary
from delaylab.analysis.packets.named import OWN_STACK
from delaylab.charts import words
from delaylab.report.arrange import Panel, usual
from delaylab.report.svg import xml

WIDTH = 1180
LABEL = 104
RTT = 92
REGIONS = 16
NAMES = 62
LINE = 84
STATIONS = 102
ROWS = 116
ROW = 44
LETTER = 6.5
LABEL_LETTERS = 12
# One colour per decade of the median, from 1 µs to 100 ms, and the text colour that reads on it.
RAMP = ("#e9eff3", "#fbe9c6", "#fbc97f", "#f39a4f", "#dd5f33", "#a3261f")
DARK, LIGHT = "#20242a", "#ffffff"
INK = "currentColor"


@dataclass(frozen=True, slots=True)
class _Stop:
    leg: str
    point: str
    x: float
    region: str


def drawing(panel: Panel) -> str:
    """Return the drawing as SVG.

    Each segment shows the median above p99, one way; the RTT column is round trip. For a segment
    between two clocks the bound takes the place of p99.
    """
    stops = _stops(panel)
    height = ROWS + ROW * len(panel.groups) + 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" '
        f'font-size="12" color="{DARK}" class="way">',
        f"<title>The packet's way from {xml(panel.title)} and back</title>",
        *_regions(stops),
        *_line(stops),
        *_layer_names(panel, stops),
    ]
    for index, (group, label) in enumerate(zip(panel.groups, panel.labels, strict=True)):
        parts += _row(group, label, stops, ROWS + ROW * index)
    return "".join([*parts, "</svg>"])


def _stops(panel: Panel) -> list[_Stop]:
    trial = panel.groups[0].trials[0]
    stations = [("request", "intended"), *(("request", p) for p in trial.path.request)]
    stations += [("reply", p) for p in trial.path.reply]
    step = (WIDTH - LABEL - RTT - 24) / (len(stations) - 1)
    return [
        _Stop(leg, point, LABEL + step * index, _region(point, panel))
        for index, (leg, point) in enumerate(stations)
    ]


def _region(point: str, panel: Panel) -> str:
    trial = panel.groups[0].trials[0]
    if point == "wire" or trial.sender is None or trial.responder is None:
        return point
    near = point == "intended" or point.startswith("sender.")
    end = trial.sender if near else trial.responder
    if end.kind in OWN_STACK or point.endswith((".vif", ".uplink")):
        return f"host {end.host}"
    return f"node {end.node}"


def _regions(stops: list[_Stop]) -> list[str]:
    parts: list[str] = []
    first = 0
    for index in range(1, len(stops) + 1):
        same = index < len(stops) and stops[index].region == stops[first].region
        if same and stops[first].point != "wire":
            continue
        left, right = stops[first].x - 15, stops[index - 1].x + 15
        parts.append(
            f'<rect x="{left:.1f}" y="2" width="{right - left:.1f}" height="{STATIONS + 6}" rx="7" '
            f'fill="{INK}" fill-opacity="0.06"/>'
            + _text((left + right) / 2, REGIONS, stops[first].region, 11, "600", opacity=0.75)
        )
        first = index
    return parts


def _line(stops: list[_Stop]) -> list[str]:
    parts = []
    for start, end in pairwise(stops):
        dash = ' stroke-dasharray="2 4"' if start.point == "intended" else ""
        parts.append(
            f'<line x1="{start.x:.1f}" y1="{LINE}" x2="{end.x:.1f}" y2="{LINE}" stroke="{INK}" '
            f'stroke-width="2" stroke-opacity="0.55"{dash}/>'
        )
        middle = (start.x + end.x) / 2
        parts.append(
            f'<path d="M{middle - 3:.1f} {LINE - 4} l6 4 l-6 4 z" fill="{INK}" fill-opacity="0.6"/>'
        )
    for stop in stops:
        fill = "none" if stop.point == "intended" else INK
        parts.append(
            f'<circle cx="{stop.x:.1f}" cy="{LINE}" r="4.5" fill="{fill}" stroke="{INK}"/>'
            + _text(stop.x, STATIONS, stop.point.rpartition(".")[2], 11)
        )
    return parts


def _layer_names(panel: Panel, stops: list[_Stop]) -> list[str]:
    place = {(stop.leg, stop.point): stop.x for stop in stops}
    named: dict[float, str] = {}
    for part in (part for group in panel.groups for part in usual(group)):
        start, end = _ends(part, place)
        named.setdefault((start + end) / 2, part.layer)
    parts = []
    letters = int((stops[1].x - stops[0].x) / LETTER)
    for x, name in named.items():
        lines = _wrapped(name, letters)
        for index, line in enumerate(lines):
            y = NAMES - 12 * (len(lines) - 1) / 2 + 12 * index - 14
            parts.append(_text(x, y, line, 10.5, opacity=0.85))
    right = stops[-1].x + 24 + RTT / 2
    return [*parts, _text(right, NAMES - 14, "user RTT", 11, "600")]


def _row(group: Group, label: str, stops: list[_Stop], top: float) -> list[str]:
    place = {(stop.leg, stop.point): stop.x for stop in stops}
    middle = top + ROW / 2
    parts = _label(label, f"n {_answered(group)}", middle)
    for part in usual(group):
        start, end = _ends(part, place)
        parts.append(_cell(start + 1, end - start - 2, top, part))
    if "app" in group.rtt:
        rtt = group.rtt["app"]
        x = stops[-1].x + 24 + RTT / 2
        parts.append(_text(x, middle - 2, words.quantile(rtt.median), 13, "700"))
        parts.append(_text(x, middle + 13, words.quantile(rtt.p99), 10.5, opacity=0.7))
    return parts


def _label(label: str, count: str, middle: float) -> list[str]:
    """Return a row's label, in two small lines if it is long."""
    size = 13.0
    lines = [label]
    if len(label) > LABEL_LETTERS:
        size = 10.0
        lines = _wrapped(label, LABEL_LETTERS + 5)[:2]
    first = middle - 2 - (len(lines) - 1) * (size + 1)
    said = [(line, first + index * (size + 1), size, 600, 1.0) for index, line in enumerate(lines)]
    said.append((count, middle + 13, 10.5, 400, 0.7))
    return [
        f'<text x="0" y="{y:.1f}" font-weight="{weight}" font-size="{size}" fill="{INK}" '
        f'fill-opacity="{opacity}">{xml(text)}</text>'
        for text, y, size, weight, opacity in said
    ]


def _cell(x: float, width: float, top: float, part: SegmentSummary) -> str:
    delay = part.delay
    known = delay.median.at_most if delay.median.value is None else delay.median.value
    if known is None:
        return ""
    shade = _shade(known)
    below = f"± {words.delay(part.bound_us)}" if part.bound_us else words.quantile(delay.p99)
    ink = LIGHT if shade >= 4 else DARK
    middle = top + ROW / 2
    hint = (
        f"{part.layer}, {part.direction}, one way: n {delay.n}; median "
        f"{words.quantile(delay.median)}, 95 % {words.interval(delay.median.interval)}; "
        f"p90 {words.quantile(delay.p90)}; p99 {words.quantile(delay.p99)}, 95 % "
        f"{words.interval(delay.p99.interval)}; max {words.delay(delay.max)}{_clocks(part)}"
    )
    return (
        f"<g><title>{xml(hint)}</title>"
        f'<rect x="{x:.1f}" y="{top + 2:.1f}" width="{width:.1f}" height="{ROW - 4}" rx="5" '
        f'fill="{RAMP[shade]}"/>'
        + _text(x + width / 2, middle - 2, words.quantile(delay.median), 12.5, "600", ink)
        + _text(x + width / 2, middle + 13, below, 10.5, "400", ink, 0.8)
        + "</g>"
    )


def _clocks(part: SegmentSummary) -> str:
    if not part.bound_us:
        return ""
    why = f": the median is {part.delay.median.why}" if part.delay.median.why else ""
    return f"; two clocks, each delay ± {words.delay(part.bound_us)}{why}"


def _ends(part: SegmentSummary, place: dict[tuple[str, str], float]) -> tuple[float, float]:
    if part.start == "intended":
        return place["request", "intended"], place["request", "sender.app"]
    legs = ("request", "reply") if part.leg == "turn" else (part.leg, part.leg)
    return place[legs[0], part.start], place[legs[1], part.end]


def _shade(us: float) -> int:
    return min(len(RAMP) - 1, max(0, int(log10(us)) if us >= 1 else 0))


def _answered(group: Group) -> int:
    return group.rtt["app"].n if "app" in group.rtt else 0


def _wrapped(name: str, width: int) -> list[str]:
    lines = [""]
    for word in name.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    weight: str = "400",
    ink: str = INK,
    opacity: float = 1,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="{size}" '
        f'font-weight="{weight}" fill="{ink}" fill-opacity="{opacity}">{xml(text)}</text>'
    )
