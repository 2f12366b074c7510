"""The packet's way: delays by layer and direction, and round trips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap

from rich.table import Table
from rich.text import Text

from delaylab.analysis.group import Group, GroupPackets, SegmentSummary
from delaylab.analysis.statistics.quantiles import Quantile, Summary, Tail
from delaylab.charts import words
from delaylab.charts.fitted import scaled
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import JsonObject
from delaylab.report.arrange import Panel, SegmentKey, layer_names, panels, segment_key, usual
from delaylab.report.packet_path import drawing
from delaylab.report.sections.section import WIDE, Html, Report, interval

TITLE = "italic"
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
# Largest number of rows of a drawing that the page shows before a reader unfolds the rest.
WAY_ROWS = 24


@dataclass(frozen=True, slots=True)
class WayDrawing:
    """Drawing of the packet's way for one panel."""

    name: str
    heading: str
    svg: str
    rows: int

    @property
    def many(self) -> bool:
        """Return True if there are too many rows to show at once."""
        return self.rows > WAY_ROWS

    @property
    def title(self) -> str:
        """Return what it shows, in words."""
        return f"The packet's way, {self.heading}"

    def fitted(self, width: float) -> str:
        """Return the drawing as SVG of this width in px; raise TooNarrow for small letters."""
        return scaled(self.svg, width)

    @property
    def inline(self) -> str:
        """Return the SVG with the page's own text colour as its ink."""
        return self.svg.replace(' color="#20242a"', "", 1)


@dataclass(frozen=True, slots=True)
class Absent:
    """Points without stamps, their reason, and the kinds of sender for which that is true."""

    points: list[str]
    reason: str
    kinds: list[str]


def terminal(report: Report, width: int) -> Iterator[Table]:
    """Yield the tables of each panel; round trips only, if it has many groups."""
    for panel in panels(report.groups):
        if len(panel.groups) > LAYERED:
            yield _trips_table(panel, width)
        else:
            yield from _layer_tables(panel, width)


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
            {"way": each.way, "packets": each.packets, "rtt": _trips(each.rtt)}
            for each in packets.ways
        ],
        "way_unknown": packets.way_unknown,
        "off_ways": packets.off_ways,
    }


def _trips(rtt: Mapping[str, Summary]) -> JsonObject:
    return {name: _summary(summary) for name, summary in rtt.items()}


def html(report: Report) -> Html:
    """Return a drawing for each panel, and the points without stamps."""
    ways = [_way(index, panel) for index, panel in enumerate(panels(report.groups), start=1)]
    aligned = any(group.packets and group.packets.clocks for group in report.groups)
    return Html({"ways": ways, "absent": _absent(report.groups), "clocks": aligned}, ways)


def _way(index: int, panel: Panel) -> WayDrawing:
    return WayDrawing(
        f"way-{index}-{panel.groups[0].kind}",
        panel.heading,
        drawing(panel),
        len(panel.groups),
    )


def _absent(groups: list[Group]) -> list[Absent]:
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    for group in groups:
        for missing in group.packets.account.absent.items() if group.packets else ():
            kinds.setdefault(missing, {})[group.kind] = None
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (point, reason), found in kinds.items():
        together.setdefault((reason, tuple(found)), []).append(point)
    return [Absent(points, reason, list(of)) for (reason, of), points in together.items()]


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
    return {
        "n": summary.n,
        "n_effective": summary.n_effective,
        **{
            key: value
            for name, found in summary.quantiles.items()
            for key, value in _quantile(f"{name}_us", found).items()
        },
        "max_us": summary.max,
        "refused": {
            f"{name}_us": found.why
            for name, found in summary.quantiles.items()
            if found.value is None
        },
    }


def _quantile(name: str, quantile: Quantile) -> JsonObject:
    return {name: quantile.value, f"{name}_interval": interval(quantile.interval)}


def _layer_tables(panel: Panel, width: int) -> Iterator[Table]:
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
    """Column of a table of layers: a group's delays as words, by segment and by round trip."""

    head: str
    parts: dict[SegmentKey, SegmentSummary]
    cells: dict[SegmentKey, str]
    trips: dict[str, str]
    why_no_p99: str

    @property
    def width(self) -> int:
        """Return the number of characters of its widest cell."""
        lines = [*self.head.split("\n"), *self.cells.values(), *self.trips.values()]
        return max(map(len, lines))


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
) -> Table:
    """Return the table of some groups; the last one of a panel explains the signs of all."""
    bounded = any(part.bound_us for column in columns for part in column.parts.values())
    few = any("–" in cell for c in columns for cell in (*c.cells.values(), *c.trips.values()))
    why = next((column.why_no_p99 for column in columns if column.why_no_p99), "")
    no_p99 = f" User RTT: {why}." if why else ""
    notes = f"{CLOCKS if bounded else ''}{FEW if few else ''}{no_p99}"
    caption = f"{ARROWS_SAID} RTT: round trip. {COUNTED}{notes}"
    table = Table(
        title=Text(title, TITLE),
        caption=caption if last or bounded or few or why else None,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("layer", min_width=LAYER)
    for column in columns:
        table.add_column(Text(column.head), justify="right", min_width=column.width, no_wrap=True)
    for key, name in names.items():
        cells = [column.cells.get(key, "–") for column in columns]
        if any(key in column.cells for column in columns):
            table.add_row(Text(name), *cells)
    table.add_section()
    for trip, text in TRIPS:
        if any(trip in column.trips for column in columns):
            table.add_row(text, *(c.trips.get(trip, "–") for c in columns), style="bold")
    return table


def _trips_table(panel: Panel, width: int) -> Table:
    """Return the round trips of a panel with too many groups to show each layer by layer."""
    wide = width >= WIDE
    name = panel.tail
    table = Table(
        title=Text(f"{panel.title}: round trips, median / {name}", TITLE),
        caption=f"Layer by layer in the report. {COUNTED}",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("trials" if wide else "trials; n, lost", ratio=1, overflow="fold")
    trips = [trip for trip in TRIPS if any(trip[0] in group.rtt for group in panel.groups)]
    for head in (*(["n, lost"] if wide else []), *(text for _, text in trips)):
        table.add_column(head, justify="right", no_wrap=True)
    for group, label in zip(panel.groups, panel.labels, strict=True):
        cells = [_cell(group.rtt.get(trip), name) for trip, _ in trips]
        if wide:
            table.add_row(Text(label), _count(group), *cells)
        else:
            folded = [cell.replace(" / ", "\n") for cell in cells]
            table.add_row(Text(f"{label}\n{_count(group)}"), *folded)
    return table


def _count(group: Group) -> str:
    return f"n {group.answered}, lost {group.lost}"


def _bounded_cell(part: SegmentSummary, name: Tail) -> str:
    bound = f" ±{words.delay(part.bound_us)}" if part.bound_us else ""
    return _cell(part.delay, name) + bound


def _cell(delays: Summary | None, name: Tail) -> str:
    if delays is None:
        return "–"
    return f"{words.quantile(delays.median)} / {words.quantile(delays.tail(name))}"
