"""The packet's way: delays by layer and direction, and round trips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import starmap
from textwrap import wrap

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group, GroupPackets, SegmentSummary
from delaylab_study.analysis.statistics.quantiles import Summary, Tail
from delaylab_study.charts.fitted import scaled
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.arrange import Panel, SegmentKey, layer_names, panels, segment_key, usual
from delaylab_study.report.packet_path import DEEP, RAMP, drawing
from delaylab_study.report.sections.section import Report, interval, quantile

# Smallest width of the column of layers, and that of the lines between two columns.
LAYER, BETWEEN = 20, 3
# Width at which the names of a column are folded.
HEAD = 24
TRIPS = (("app", "user RTT"), ("stack", "kernel RTT"), ("wire", "wire RTT"))
COUNTED = "n, lost: packets sent under load."
FEW = " –: too few independent packets for this figure."
CLOCKS = " ±: uncertainty of aligning two clocks."
ARROWS = {"sending": "→", "receiving": "←"}
# Beyond the sender's side, by the segment's leg.
REMOTE = {"request": "⇢", "reply": "⇠", "turn": "↻"}
ARROWS_SAID = "One way: → sending, ← receiving; beyond the sender's side: ⇢ there, ↻ turn, ⇠ back."
# Largest number of groups of one panel that are shown layer by layer in the terminal.
LAYERED = 12
NOTE = (
    "One cell for each segment, from the scheduled send time to the responder and back. It shows "
    "the segment's one-way delay: the median, and below it the tail quantile that the heading "
    "names. n and lost count the packets sent under load. The user RTT next to each name is the "
    "round trip, with the same two quantiles. A cell's colour is the decade of its median: "
)
DECADES = ("< 10 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms")
"""The names of the colours of `RAMP`."""
KEY = v.Swatches("", steps=tuple((name, RAMP[at], at >= DEEP) for at, name in enumerate(DECADES)))
BOUNDED = (
    " A segment between two clocks has ± instead of the tail: the uncertainty of their alignment. "
)
POINT = "Point at a cell for n and the 95 % intervals, or open the table."
EFFECTIVE = "effective sample size: independent packets that these are worth"
ENDS = (
    v.Column("trials", "label", key="trials", once=True),
    v.Column("leg", "text", key="leg"),
    *(v.Column(head, "text") for head in ("segment", "layer")),
    v.Column("direction", "text", key="direction"),
    v.Column("n"),
    v.Column("effective", hint=EFFECTIVE),
    v.Column("median"),
)
TAILS = (*map(v.Column, ("95 %", "p90", "p99", "95 %", "p99.9", "max")),)
# Largest number of rows of a drawing that the page shows before a reader unfolds the rest.
WAY_ROWS = 24


@dataclass(frozen=True)
class WayDrawing:
    """The drawing of the packet's way for one panel."""

    name: str
    panel: Panel

    @cached_property
    def svg(self) -> str:
        """Return the drawing."""
        return drawing(self.panel)

    @property
    def title(self) -> str:
        """Return what it shows, in words."""
        return f"The packet's way, {self.panel.heading}"

    def fitted(self, width: float) -> str:
        """Return the drawing as SVG of this width in px; raise TooNarrow for small letters."""
        return scaled(self.svg, width)

    def inline(self) -> str:
        """Return the SVG with the page's own text colour as its ink."""
        return self.svg.replace(' color="#20242a"', "", 1)


def section(report: Report) -> v.Section:
    """Return the delays by layer and direction: drawn, and as tables; in a terminal of each panel.

    A panel with many groups has its round trips alone there.
    """
    parts = [v.Lazy(lambda width: _terminal(report, width), on=v.TERMINAL)]
    page = [v.Lazy(lambda _: _page(report), on=v.PAGE + v.DATA)] if report.probed else []
    return v.Section("way", [*parts, *page])


def _terminal(report: Report, width: int) -> Iterator[v.Table]:
    for panel in panels(report.groups):
        if len(panel.groups) > LAYERED:
            yield _trips_table(panel)
        else:
            yield from _layer_tables(panel, width)


def _page(report: Report) -> Iterator[v.Part]:
    clocks = any(group.packets and group.packets.clocks for group in report.groups)
    yield v.Heading("The packet's way", 2)
    yield v.note((NOTE, KEY, BOUNDED if clocks else " ", POINT))
    for index, panel in enumerate(panels(report.groups), start=1):
        way = WayDrawing(f"way-{index}-{panel.groups[0].kind}", panel)
        many = len(panel.groups)
        yield v.Heading(panel.heading)
        yield v.unfolded(f"{many} rows", [v.Picture(way.inline, way)], when=many > WAY_ROWS)
    for (reason, kinds), points in _absent(report.groups).items():
        said = f" ({', '.join(kinds)}): {reason}."
        yield v.note(("No stamps at ", v.Span(", ".join(points), "strong"), said))
    rows = [_row(group.label, part) for group in report.probed for part in group.segments]
    columns = (*ENDS, v.Column("± clocks", on=v.PAGE if clocks else ()), *TAILS)
    table = v.Table(columns, rows, key="delays")
    yield v.unfolded("All segments with n and intervals", [table])
    groups = [each for group in report.probed for each in group.by_way()]
    trips = [(group, *trip) for group in groups for trip in group.rtt.items()]
    yield v.for_scripts("rtt", lambda: starmap(_trip, trips))


def _row(label: str, part: SegmentSummary) -> v.Row:
    delay = part.delay
    median, p90, p99, p999, most = _statistics(delay)
    at = v.Value("at", part.at)
    start, end = v.Value("from", part.start), v.Value("to", part.end)
    merged = v.Value("merged", part.merged, how=written.said(" (merged)" if part.merged else ""))
    bound = v.Value("bound_us", part.bound_us, "us")
    limit, way = v.Value("at_most_us", delay.median.at_most, "us"), v.Value("way", part.way)
    return [
        label,
        part.leg,
        (start, " → ", end, merged, *v.unseen(way)),
        (v.Value("layer", part.layer), *((" (", at, ")") if part.at else v.unseen(at))),
        part.direction,
        v.Value("n", delay.n),
        v.Value("n_effective", delay.n_effective, how=written.fixed(".0f")),
        median,
        (*((bound,) if part.bound_us else v.unseen(bound)), *v.unseen(limit)),
        (replace(median, how=written.ends, tone="small"),),
        p90,
        p99,
        (replace(p99, how=written.ends, tone="small"),),
        p999,
        most,
    ]


def _statistics(delays: Summary) -> list[v.Value]:
    quantiles = [quantile(f"{name}_us", found) for name, found in delays.quantiles.items()]
    return [*quantiles, v.Value("max_us", delays.max, "us")]


def _trip(group: Group, point: str, trip: Summary) -> list[v.Value]:
    """Return a round trip of a group with the counts of its packets."""
    names = {"trials": group.label, "way": group.way, "point": point}
    counts = {"sent": group.sent, "answered": group.answered, "lost": group.lost}
    of_trip = {"n": trip.n, "n_effective": trip.n_effective}
    return [*v.values({**names, **counts}), *v.values(of_trip), *_statistics(trip)]


def study_json(report: Report) -> JsonObject:
    """Return the RTTs and the one-way delays of each combination of levels, its trials pooled."""
    return {
        "combinations": [
            {
                "factors": group.factors,
                "trials": [trial.id for trial in group.trials],
                "sent": group.sent,
                "answered": group.answered,
                "lost": group.lost,
                **_delays(group),
            }
            for group in report.probed
        ]
    }


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the RTTs and the one-way delays of the segments; of each way, if there are several."""
    return _delays(group) if group else {"rtt": {}, "segments": []}


def _delays(group: Group) -> JsonObject:
    return {
        "rtt": _trips(group.rtt),
        "segments": [_segment(segment) for segment in group.segments],
        **(_ways(group.packets) if group.packets and group.packets.ways else {}),
    }


def _ways(packets: GroupPackets) -> JsonObject:
    """Return the packets and RTTs of each way, and the number of packets without a known one."""
    return {
        "ways": [
            {"way": way.way, "packets": way.packets, "rtt": _trips(way.rtt)} for way in packets.ways
        ],
        "way_unknown": packets.way_unknown,
        "off_ways": packets.off_ways,
    }


def _trips(rtt: Mapping[str, Summary]) -> JsonObject:
    return {name: _summary(summary) for name, summary in rtt.items()}


def _absent(groups: list[Group]) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return the points without stamps by the reason, and by the kinds of sender that have it."""
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    for group in groups:
        for missing in group.packets.account.absent.items() if group.packets else ():
            kinds.setdefault(missing, {})[group.kind] = None
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (point, reason), found in kinds.items():
        together.setdefault((reason, tuple(found)), []).append(point)
    return together


def _segment(segment: SegmentSummary) -> JsonObject:
    return {
        "leg": segment.leg,
        "from": segment.start,
        "to": segment.end,
        "layer": segment.layer,
        "direction": segment.direction,
        "at": segment.at,
        "merged": segment.merged,
        **_summary(segment.delay),
        "bound_us": segment.bound_us,
        "at_most_us": segment.delay.median.at_most,
        "why": segment.delay.median.why,
        **({"way": segment.way} if segment.way else {}),
    }


def _summary(summary: Summary) -> JsonObject:
    *quantiles, most = _statistics(summary)
    return {
        "n": summary.n,
        "n_effective": summary.n_effective,
        **{
            key: value
            for found in quantiles
            for key, value in (
                (found.key, found.value),
                (f"{found.key}_interval", interval(found.interval)),
            )
        },
        most.key: most.value,
        "refused": {found.key: "".join(found.doubts) for found in quantiles if found.value is None},
    }


def _layer_tables(panel: Panel, width: int) -> Iterator[v.Table]:
    """Yield the delays per layer and direction of one panel, as many groups a table as fit."""
    name = panel.tail
    columns = [
        _column(group, label, name) for group, label in zip(panel.groups, panel.labels, strict=True)
    ]
    names = {
        key: f"{ARROWS.get(part.direction, REMOTE[part.leg])} {name}"
        for key, name in layer_names(panel.groups).items()
        for part in [next(c.parts[key] for c in columns if key in c.parts)]
    }
    wanted = max(map(len, names.values()), default=0)
    first = 0
    while first < len(columns):
        room = width - BETWEEN - 1 - max(LAYER, min(wanted, width // 2))
        count = _fitting([column.width for column in columns[first:]], room)
        last = first + count == len(columns)
        title = f"{panel.title}: delay per layer, median / {name}"
        yield _layer_table(title, columns[first : first + count], names, last=last)
        first += count


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table of layers: a group's delays by segment and by round trip."""

    head: str
    parts: dict[SegmentKey, SegmentSummary]
    cells: dict[SegmentKey, v.Parts]
    trips: dict[str, v.Parts]
    why_no_p99: str

    @property
    def width(self) -> int:
        """Return the number of characters of its widest cell."""
        return max(map(len, [*self.head.split("\n"), *self.texts]))

    @property
    def texts(self) -> list[str]:
        """Return its cells without tones."""
        return [*map(written.plain, (*self.cells.values(), *self.trips.values()))]


def _column(group: Group, label: str, name: Tail) -> _Column:
    parts = {segment_key(part): part for part in usual(group)}
    cells = {key: _bounded_cell(part, name) for key, part in parts.items()}
    trips = {trip: _cell(group.rtt[trip], name) for trip, _ in TRIPS if trip in group.rtt}
    head = f"{_folded(label, HEAD)}\n{_count(group)}"
    p99 = group.rtt["app"].p99 if "app" in group.rtt else None
    return _Column(head, parts, cells, trips, p99.why if p99 and p99.value is None else "")


def _folded(text: str, width: int) -> str:
    return "\n".join(wrap(text, width, break_long_words=False)) or text


def _fitting(widths: list[int], room: int) -> int:
    """Return how many of these columns fit into the room, at least one."""
    count, used = 0, 0
    for width in widths:
        used += width + BETWEEN
        if used > room and count:
            break
        count += 1
    return count


def _layer_table(
    title: str, columns: list[_Column], names: dict[SegmentKey, str], *, last: bool
) -> v.Table:
    """Return the table of some groups; the last one of a panel explains the signs of all."""
    bounded = any(part.bound_us for column in columns for part in column.parts.values())
    few = any("–" in text for column in columns for text in column.texts)
    why = next((column.why_no_p99 for column in columns if column.why_no_p99), "")
    no_p99 = f" User RTT: {why}." if why else ""
    notes = f"{CLOCKS if bounded else ''}{FEW if few else ''}{no_p99}"
    caption = f"{ARROWS_SAID} RTT: round trip. {COUNTED}{notes}"
    layers = [
        [name, *(column.cells.get(key, "–") for column in columns)]
        for key, name in names.items()
        if any(key in column.cells for column in columns)
    ]
    trips = [
        [text, *(column.trips.get(trip, "–") for column in columns)]
        for trip, text in TRIPS
        if any(trip in column.trips for column in columns)
    ]
    heads = [v.Column(each.head, least=each.width, long="whole") for each in columns]
    return v.Table(
        [v.Column("layer", "label", least=LAYER), *heads],
        layers,
        title,
        caption if last or bounded or few or why else "",
        totals=trips,
    )


def _trips_table(panel: Panel) -> v.Table:
    """Return the round trips of a panel with too many groups to show each layer by layer."""
    trips = [trip for trip in TRIPS if any(trip[0] in group.rtt for group in panel.groups)]
    columns = (
        v.Column("trials", "label", v.WIDE, ratio=1, long="fold"),
        v.Column("n, lost", on=v.WIDE, long="whole"),
        *(v.Column(text, on=v.WIDE, long="whole") for _, text in trips),
        v.Column("trials; n, lost", "label", v.NARROW, ratio=1, long="fold"),
        *(v.Column(text, on=v.NARROW, long="whole") for _, text in trips),
    )
    rows: list[v.Row] = []
    for group, label in zip(panel.groups, panel.labels, strict=True):
        found = [group.rtt.get(trip) for trip, _ in trips]
        cells, folded = ([_cell(each, panel.tail, by) for each in found] for by in (" / ", "\n"))
        count = _count(group)
        rows.append([label, count, *cells, f"{label}\n{count}", *folded])
    title = f"{panel.title}: round trips, median / {panel.tail}"
    return v.Table(columns, rows, title, f"Layer by layer in the report. {COUNTED}")


def _count(group: Group) -> str:
    return f"n {group.answered}, lost {group.lost}"


def _bounded_cell(part: SegmentSummary, name: Tail) -> v.Parts:
    bound = (" ±", v.Value("bound_us", part.bound_us, "us")) if part.bound_us else ()
    return (*_cell(part.delay, name), *bound)


def _cell(delays: Summary | None, name: Tail, by: str = " / ") -> v.Parts:
    if delays is None:
        return ("–",)
    return quantile("median_us", delays.median), by, quantile(f"{name}_us", delays.tail(name))
