"""Drawing of the packet's way: stations in a row, below them each load's delay per segment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log10

from delaylab.api.drawing import FONT, xml
from delaylab.api.kinds import facts_of
from delaylab.api.points import ON_HOST, RESPONDER, TUNNEL, WIRE, bare, role, router_number
from delaylab_study.analysis.group import Group, SegmentSummary
from delaylab_study.analysis.statistics.quantiles import Quantile, Summary, Tail
from delaylab_study.charts import words
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report.arrange import Panel, layer_names, segment_key, usual
from delaylab_study.report.row_labels import INK, ROW, height, label_of, wrapped

# The smallest width, and the smallest distance of two stations.
WIDTH = 1180
STEP = 68
LABEL = 104
RTT = 84
WAY = LABEL + RTT + 26
EDGE = 22
# Width on a screen, as a share of that drawn, below which a reader scrolls: letters stay readable.
SHRUNK = 0.8
# The most segments side by side that a screen shows without scrolling; more take several tiers.
FIT = int((WIDTH / SHRUNK - WAY - EDGE) / STEP)
GAP = 8
LAYER_LINES = 4
REGIONS = 16
NAMES = 62
LINE = 84
STATIONS = 102
ROWS = 116
# Distance of the lines that say what the numbers are.
SAID = 15
LETTER = 6.5
# One colour per decade of the median, from 1 µs to 100 ms, and the text colour that reads on it.
RAMP = ("#e9eff3", "#fbe9c6", "#fbc97f", "#f39a4f", "#dd5f33", "#a3261f")
DEEP = 4
"""The first of these that is read with light text."""
DARK, LIGHT = "#20242a", "#ffffff"
SWITCH = (("median", "median"), ("p90", "p90"), ("p99", "p99"))
"""The statistics between which a page switches what is bold, with their words."""


@dataclass(frozen=True, slots=True)
class _Stop:
    leg: str
    point: str
    x: float
    region: str


@dataclass(frozen=True, slots=True)
class _Frame:
    """One tier of a drawing: stations from left to right, layers' names, height of its head.

    `places` are the stations' by leg and point; `row` is the height of each row.
    """

    stops: list[_Stop]
    layers: dict[tuple[float, float], list[str]]
    width: float
    drop: float
    places: dict[tuple[str, str], float]
    row: float = ROW

    def height_of(self, rows: int) -> float:
        """Return the height of the tier with so many rows."""
        return ROWS + self.drop + self.row * rows + GAP


def drawing(panel: Panel) -> str:
    """Return the drawing as SVG.

    Each segment shows the median above the panel's tail, one way; the user RTT at the left is a
    round trip. For a segment between two clocks the bound takes the place of the tail. The drawing
    says which quantiles it shows: it is also a file of its own. A long way is drawn in tiers, of
    which each begins with the station at which the one before it ends.
    """
    frames = _frames(panel)
    width = max(frame.width for frame in frames)
    heights = [frame.height_of(len(panel.groups)) for frame in frames]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {sum(heights):.0f}" '
        f'role="img" font-family="{FONT}" '
        f'font-size="12" color="{DARK}" class="way" '
        f'style="min-width:{SHRUNK * width:.0f}px">',
        f"<title>The packet's way from {xml(panel.title)} and back: median, {panel.tail}</title>",
    ]
    for number, frame in enumerate(frames):
        parts += [
            f'<g transform="translate(0 {sum(heights[:number]):.0f})">',
            *(_statistics(panel) if number == 0 else ()),
            *_regions(frame),
            *_line(frame),
            *_layer_names(frame),
        ]
        for index, (group, label) in enumerate(zip(panel.groups, panel.labels, strict=True)):
            top = ROWS + frame.drop + frame.row * index
            middle = top + frame.row / 2
            count = _count(group) if number == 0 else ""
            parts += label_of(_shown(panel, label), count, middle)
            parts += _row(group, frame, top, panel.tail)
            if number == 0:
                parts += _round_trip(group, middle, panel.tail)
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _statistics(panel: Panel) -> list[str]:
    """Return the words that say which quantiles of which delays the numbers are."""
    bold = {name: f"bold: {said}; below: {panel.tail}" for name, said in SWITCH}
    said = (
        bold["median"],
        "user RTT: round trip",
        "segments: one way",
    )
    return [
        f'<text x="0" y="{REGIONS + index * SAID}" font-size="10.5" fill="{INK}" '
        f'fill-opacity="0.7"{_switched(bold if index == 0 else {})}>{text}</text>'
        for index, text in enumerate(said)
    ]


def _frames(panel: Panel) -> list[_Frame]:
    way = panel.groups[0].trials[0].way
    there = [("request", "intended"), *(("request", point) for point in way.request)]
    back = [("reply", point) for point in way.reply]
    tiers = [there + back]
    if len(tiers[0]) - 1 > FIT:
        # The responder's own segment ends the way there.
        tiers = [*_tiers(there + back[:1]), *_tiers(back)]
    step = max(STEP, (WIDTH - WAY - EDGE) / max(len(tier) - 1 for tier in tiers))
    return [_frame(panel, tier, step) for tier in tiers]


def _tiers(stations: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return the stations in tiers of about equal length; neighbours share a station."""
    segments = len(stations) - 1
    count = -(-segments // FIT)
    ends = [segments * number // count for number in range(count + 1)]
    return [stations[start : end + 1] for start, end in pairwise(ends)]


def _frame(panel: Panel, stations: list[tuple[str, str]], step: float) -> _Frame:
    regions = _places(panel)
    stops = [
        _Stop(leg, point, WAY + step * index, regions(leg, point))
        for index, (leg, point) in enumerate(stations)
    ]
    places = {(stop.leg, stop.point): stop.x for stop in stops}
    frame = _Frame(stops, {}, WAY + step * (len(stations) - 1) + EDGE, 0, places)
    names = layer_names(panel.groups)
    layers: dict[tuple[float, float], list[str]] = {}
    for part in (part for group in panel.groups for part in usual(group)):
        if (ends := _ends(part, frame)) is not None:
            letters = int((ends[1] - ends[0]) / LETTER)
            layers.setdefault(ends, wrapped(names[segment_key(part)], letters))
    most = max((len(lines) for lines in layers.values()), default=1)
    row = height(_shown(panel, label) for label in panel.labels)
    return replace(frame, layers=layers, drop=12 * max(0, most - LAYER_LINES), row=row)


def _places(panel: Panel) -> Callable[[str, str], str]:
    """Return a function that names the node or host of a leg's point, if all groups agree."""
    named = [_places_of(group.trials[0]) for group in panel.groups]

    def place(leg: str, point: str) -> str:
        names = {places.get((leg, point), point) for places in named}
        if len(names) == 1:
            return names.pop()
        number = router_number(role(point))
        if number is not None:
            return f"router {number}"
        return f"{role(point)}'s host" if bare(point) in ON_HOST else role(point)

    return place


def _places_of(trial: TrialRecord) -> dict[tuple[str, str], str]:
    """Return the node or host of each point of each leg of a trial."""
    found = {}
    way = trial.way
    legs = ("request", ["intended", *way.request]), ("reply", way.reply)
    for leg, point in ((leg, point) for leg, points in legs for point in points):
        number = router_number(role(point))
        if bare(point) == TUNNEL or (bare(point) in (WIRE, "uplink") and number is not None):
            place = trial.places.get(point)
            found[leg, point] = place.at.replace(".", " ") if place else bare(point)
            continue
        if number is not None:
            hops = way.from_sender(leg)
            known = number <= len(hops)
            found[leg, point] = f"router {hops[number - 1].end if known else number}"
            continue
        end = trial.responder if role(point) == RESPONDER else trial.sender
        if point != WIRE and end is not None:
            host = not facts_of(end.kind).own_stack or bare(point) in ON_HOST
            found[leg, point] = f"host {end.host}" if host else f"node {end.node}"
    return found


def _regions(frame: _Frame) -> list[str]:
    parts: list[str] = []
    stops, first = frame.stops, 0
    step = stops[1].x - stops[0].x
    for index in range(1, len(stops) + 1):
        same = index < len(stops) and stops[index].region == stops[first].region
        # Beyond the sender's side the packet was elsewhere.
        if same and stops[index].leg != stops[index - 1].leg:
            same = not stops[index].point.startswith("sender.")
        if same and bare(stops[first].point) != WIRE:
            continue
        left, right = stops[first].x - 15, stops[index - 1].x + 15
        name = stops[first].region
        letters = int((stops[index - 1].x - stops[first].x + step - 4) / LETTER)
        shown = name if len(name) <= letters else f"{name[: letters - 1]}…"
        parts.append(
            f'<rect x="{left:.1f}" y="2" width="{right - left:.1f}" '
            f'height="{STATIONS + frame.drop + 6:.0f}" rx="7" fill="{INK}" fill-opacity="0.06">'
            f"<title>{xml(name)}</title></rect>"
            + _text((left + right) / 2, REGIONS, shown, 11, weight="600", opacity=0.75)
        )
        first = index
    return parts


def _line(frame: _Frame) -> list[str]:
    stops, parts, y = frame.stops, [], LINE + frame.drop
    for start, end in pairwise(stops):
        dash = ' stroke-dasharray="2 4"' if start.point == "intended" else ""
        parts.append(
            f'<line x1="{start.x:.1f}" y1="{y}" x2="{end.x:.1f}" y2="{y}" stroke="{INK}" '
            f'stroke-width="2" stroke-opacity="0.55"{dash}/>'
        )
        middle = (start.x + end.x) / 2
        parts.append(
            f'<path d="M{middle - 3:.1f} {y - 4} l6 4 l-6 4 z" fill="{INK}" fill-opacity="0.6"/>'
        )
    for stop in stops:
        fill = "none" if stop.point == "intended" else INK
        parts.append(
            f'<circle cx="{stop.x:.1f}" cy="{y}" r="4.5" fill="{fill}" stroke="{INK}"/>'
            + _text(stop.x, STATIONS + frame.drop, stop.point.rpartition(".")[2], 11)
        )
    return parts


def _layer_names(frame: _Frame) -> list[str]:
    parts = []
    middle = NAMES - 14 + frame.drop / 2
    for (start, end), lines in frame.layers.items():
        for index, line in enumerate(lines):
            y = middle - 12 * (len(lines) - 1) / 2 + 12 * index
            parts.append(_text((start + end) / 2, y, line, 10.5, opacity=0.85))
    first = frame.stops[0]
    onward = "and back" if first.leg == "reply" else "onward"
    head = "user RTT" if first.point == "intended" else onward
    return [*parts, _text(LABEL + RTT / 2, middle, head, 11, weight="600")]


def _row(group: Group, frame: _Frame, top: float, name: Tail) -> list[str]:
    parts = []
    for part in usual(group):
        if (ends := _ends(part, frame)) is not None:
            left, width = ends[0] + 1, ends[1] - ends[0] - 2
            parts.append(_cell(left, width, top, frame.row, part, name))
    return parts


def _round_trip(group: Group, middle: float, name: Tail) -> list[str]:
    if "app" not in group.rtt:
        return []
    rtt, x = group.rtt["app"], LABEL + RTT / 2
    return [
        _bold(x, middle - 2, rtt, 13, weight="700"),
        _text(x, middle + 13, words.quantile(rtt.tail(name)), 10.5, opacity=0.7),
    ]


def _shown(panel: Panel, label: str) -> str:
    """Return the label of a row; "" for the only one, which the heading names already."""
    return "" if label == panel.title else label


def _cell(x: float, width: float, top: float, row: float, part: SegmentSummary, name: Tail) -> str:
    delay = part.delay
    shade = _shade(delay.median)
    if shade is None:
        return ""
    below = f"± {words.delay(part.bound_us)}" if part.bound_us else words.quantile(delay.tail(name))
    ink = LIGHT if shade >= DEEP else DARK
    middle = top + row / 2
    hint = (
        f"{part.layer}, {part.direction}, one way: n {delay.n}, effective "
        f"{delay.n_effective:.0f}; median {words.quantile(delay.median)}, 95 % "
        f"{words.interval(delay.median.interval)}; "
        f"p90 {words.quantile_or_needs(delay.p90)}; p99 {words.quantile_or_needs(delay.p99)}, 95 % "
        f"{words.interval(delay.p99.interval)}; max {words.delay(delay.max)}{_clocks(part)}"
    )
    return (
        f"<g><title>{xml(hint)}</title>"
        f'<rect x="{x:.1f}" y="{top + 2:.1f}" width="{width:.1f}" height="{row - 4}" rx="5" '
        f'fill="{RAMP[shade]}"{_switched(_colours(delay))}/>'
        + _bold(x + width / 2, middle - 2, delay, 12.5, weight="600", ink=ink)
        + _text(x + width / 2, middle + 13, below, 10.5, ink=ink, opacity=0.8)
        + "</g>"
    )


def _clocks(part: SegmentSummary) -> str:
    if not part.bound_us:
        return ""
    why = f": the median is {part.delay.median.why}" if part.delay.median.why else ""
    return f"; two clocks, each delay ± {words.delay(part.bound_us)}{why}"


def _ends(part: SegmentSummary, frame: _Frame) -> tuple[float, float] | None:
    """Return where a segment begins and ends in a tier, None if it begins in another one.

    A segment that ends in a later tier is drawn to the end of this one.
    """
    place = frame.places
    start, end = ("request", part.start), (part.leg, part.end)
    if part.start == "intended":
        end = "request", "sender.app"
    elif part.leg == "turn":
        end = "reply", part.end
    else:
        start = part.leg, part.start
    last = frame.stops[-1]
    if start not in place or start == (last.leg, last.point):
        return None
    return place[start], place.get(end, last.x)


def _count(group: Group) -> str:
    return f"n {group.answered}" + (f", lost {group.lost}" if group.lost else "")


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    *,
    weight: str = "400",
    ink: str = INK,
    opacity: float = 1,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="{size}" '
        f'font-weight="{weight}" fill="{ink}" fill-opacity="{opacity}">{xml(text)}</text>'
    )


def _bold(x: float, y: float, delays: Summary, size: float, *, weight: str, ink: str = INK) -> str:
    """Return the number in bold, which a page switches between statistics."""
    said = {name: words.quantile(delays.quantiles[name]) for name, _ in SWITCH}
    text = _text(x, y, words.quantile(delays.median), size, weight=weight, ink=ink)
    return text.replace("<text", f"<text{_switched(said)}", 1)


def _switched(found: Mapping[str, str]) -> str:
    """Return the attributes by which a page switches between statistics."""
    return "".join(f' data-{name}="{xml(text)}"' for name, text in found.items())


def _shade(found: Quantile) -> int | None:
    """Return the place of a quantile's colour in `RAMP`; None if it is not known."""
    known = found.at_most if found.value is None else found.value
    if known is None:
        return None
    return min(len(RAMP) - 1, max(0, int(log10(known)) if known >= 1 else 0))


def shade_of(found: Quantile) -> tuple[str, str]:
    """Return the colour of a quantile's cell and its ink; white where it is not known."""
    shade = _shade(found)
    return (LIGHT, DARK) if shade is None else (RAMP[shade], LIGHT if shade >= DEEP else DARK)


def _colours(delay: Summary) -> dict[str, str]:
    """Return a cell's colour and its ink for each statistic; that of the median where unknown."""
    shades = {name: _shade(delay.quantiles[name]) for name, _ in SWITCH}
    median = shades["median"] or 0
    found = {name: median if shade is None else shade for name, shade in shades.items()}
    return {name: f"{RAMP[at]} {LIGHT if at >= DEEP else DARK}" for name, at in found.items()}
