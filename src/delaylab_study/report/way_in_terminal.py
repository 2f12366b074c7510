"""Delays by layer and direction for a terminal of some width, and round trips."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from delaylab_study.analysis.group import Group, SegmentSummary
from delaylab_study.analysis.statistics.quantiles import Quantile, Summary, Tail
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.arrange import Panel, SegmentKey, layer_names, panels, segment_key, usual
from delaylab_study.report.sections.section import quantile

# Smallest width of the column of layers, and that of the lines between two columns.
LAYER, BETWEEN = 20, 3
# Width at which the names of a column are folded.
HEAD = 24
TRIPS = (("app", "user RTT"), ("stack", "kernel RTT"), ("wire", "wire RTT"))
COUNTED = "n, lost: packets sent under load."
FEW = (
    " needs N (time): too few independent packets for this figure; about N would do, which take so "
    "long at the study's interval."
)
CLOCKS = " ±: uncertainty of aligning two clocks."
ARROWS = {"sending": "→", "receiving": "←"}
# Beyond the sender's side, by the segment's leg.
REMOTE = {"request": "⇢", "reply": "⇠", "turn": "↻"}
ARROWS_SAID = "One way: → sending, ← receiving; beyond the sender's side: ⇢ there, ↻ turn, ⇠ back."
# Largest number of groups of one panel that are shown layer by layer in the terminal.
LAYERED = 12


def tables(groups: list[Group], width: int) -> Iterator[v.Table]:
    """Yield the delays of each panel, by layer or, of many groups, the round trips alone."""
    for panel in panels(groups):
        if len(panel.groups) > LAYERED:
            yield _trips_table(panel)
        else:
            yield from _layer_tables(panel, width)


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
    p99: Quantile | None
    refused: bool

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
    refused = any(part.delay.tail(name).needs for part in parts.values()) or any(
        group.rtt[trip].tail(name).needs for trip, _ in TRIPS if trip in group.rtt
    )
    return _Column(head, parts, cells, trips, p99, refused)


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
    few = any(column.refused for column in columns)
    no_p99 = _no_p99([column.p99 for column in columns if column.p99])
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
        caption if last or bounded or few or no_p99 else "",
        totals=trips,
    )


def _no_p99(found: list[Quantile]) -> str:
    """Return what the p99 takes that needs the most packets; "" if all are given."""
    refused = [each.needs for each in found if each.needs]
    most = max(refused, key=lambda each: each.packets, default=None)
    if most is None:
        return ""
    return f" p99 of the user RTT {most.words}{', at most' if refused[1:] else ''}."


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
    few = any(
        group.rtt[trip].tail(panel.tail).needs
        for group in panel.groups
        for trip, _ in trips
        if trip in group.rtt
    )
    # What a figure needs is longer than the figure.
    beside = "\n" if few else " / "
    rows: list[v.Row] = []
    for group, label in zip(panel.groups, panel.labels, strict=True):
        found = [group.rtt.get(trip) for trip, _ in trips]
        cells, folded = ([_cell(each, panel.tail, by) for each in found] for by in (beside, "\n"))
        count = _count(group)
        rows.append([label, count, *cells, f"{label}\n{count}", *folded])
    title = f"{panel.title}: round trips, median / {panel.tail}"
    no_p99 = _no_p99([group.rtt["app"].p99 for group in panel.groups if "app" in group.rtt])
    said = f"Layer by layer in the report. {COUNTED}{FEW if few else ''}{no_p99}"
    return v.Table(columns, rows, title, said)


def _count(group: Group) -> str:
    return f"n {group.answered}, lost {group.lost}"


def _bounded_cell(part: SegmentSummary, name: Tail) -> v.Parts:
    bound = (" ±", v.Value("bound_us", part.bound_us, "us")) if part.bound_us else ()
    return (*_cell(part.delay, name), *bound)


def _cell(delays: Summary | None, name: Tail, by: str = " / ") -> v.Parts:
    if delays is None:
        return ("–",)
    return quantile("median_us", delays.median), by, quantile(f"{name}_us", delays.tail(name))
