"""Causes of packets near quantiles of the round trips, and of the slowest packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from delaylab.api.files import JsonObject, printable
from delaylab_study.analysis.causes.explained import LookedAt
from delaylab_study.analysis.causes.quantiles import SLOWEST, AtQuantile
from delaylab_study.analysis.group import Group
from delaylab_study.charts import words
from delaylab_study.charts.fitted import TooNarrow, sized
from delaylab_study.report import cause_bars, packet_cpus, why_words, written
from delaylab_study.report import value as v
from delaylab_study.report.cause_bars import Bar
from delaylab_study.report.cause_looks import DARK, TOGETHER, by_name
from delaylab_study.report.sections.section import Report

FIRST = (
    v.Column("levels", "label", key="levels"),
    v.Column("near", "label", key="near"),
    v.Column("RTT"),
)
LEAST_NS = 1_000
"""The least time of causes that have a column."""
MANY_BARS = 24
"""The most bars that the page shows before a reader unfolds them."""
NOTE = (
    "What packets near the median, p99 and p99.9 of the user RTT (round trip, with the time by "
    "which they were sent late) waited for, beyond what usual packets do: the mean of the 20 "
    "nearest ones. Run-queue wait: another task had the CPU. Idle CPU: it had to wake up. "
    "`delaylab why` names tasks, packet by packet."
)
BARS = (
    " A bar goes to the right for what they had more of than usual, and to the left for what they "
    "had less of. The mark is the sum of both, which stands at the right as a number. Each "
    "quantile has a scale of its own."
)
DRAWN = (
    f"The packets with the largest excess of each combination of levels, {SLOWEST} in all at most; "
    "of those under way at the same time, the slowest. On top is where the packet was, with the "
    "colour of the cause that made it late there. Below is who had each CPU at that time. In "
    "orange are threads that had a CPU for which the packet waited, in green those that had the "
    "packet or were to get it, in purple all others. Point at a part for its name and its time."
)


@dataclass(frozen=True)
class CauseDrawing:
    """A drawing of causes, laid out by `draw` for a width in px, which is at least `least`."""

    name: str
    title: str
    draw: Callable[[float], str]
    usual: float
    least: float

    @cached_property
    def svg(self) -> str:
        """Return the drawing."""
        return self.draw(self.usual)

    def fitted(self, width: float) -> str:
        """Return the drawing as SVG of this width in px; raise TooNarrow if it has no room."""
        if width < self.least:
            raise TooNarrow(self.least)
        return sized(self.draw(width), width)

    def inline(self) -> str:
        """Return the SVG with the page's own text colour as its ink."""
        return self.svg.replace(f' color="{DARK}"', "", 1)


def section(report: Report) -> v.Section:
    """Return the causes near quantiles, and the slowest packets; nothing without records of CPUs.

    The page has both as drawings.
    """
    found = [(group, near) for group in report.groups for near in _of(group)]
    if not found:
        return v.Section("causes", [])
    table = _table(found)
    in_terminal = v.Lazy(lambda _: [replace(table, key="")], on=v.TERMINAL)
    page = v.Lazy(lambda _: _page(report, found, table), on=v.PAGE + v.DATA)
    return v.Section("causes", [in_terminal, page])


def _page(
    report: Report, found: Sequence[tuple[Group, AtQuantile]], table: v.Table
) -> Iterator[v.Part]:
    yield v.Heading("Causes", 2)
    yield v.note(NOTE + BARS)
    bars: dict[str, list[Bar]] = {}
    for group, near in found:
        bars.setdefault(near.name, []).append(Bar(group.label, near))
    drawn = CauseDrawing(
        "causes",
        cause_bars.title(bars),
        partial(cause_bars.drawing, bars, "causes"),
        cause_bars.WIDTH,
        cause_bars.LEAST,
    )
    many = len(found) > MANY_BARS
    yield v.unfolded(f"{len(found)} bars", [v.Picture(drawn.inline, drawn)], when=many)
    yield v.unfolded("The same as numbers", [table])
    packets = _slowest(report.groups)
    if packets:
        yield v.Heading("The slowest packets, and who had the CPUs")
        yield v.note(DRAWN)
    for number, packet in enumerate(packets, start=1):
        yield _packet(packet, f"causes-packet-{number}", opened=number == 1)


def _packet(packet: LookedAt, name: str, *, opened: bool) -> v.Block:
    """Return a packet's drawing, with its causes in words."""
    title = why_words.title(packet)
    drawn = CauseDrawing(
        name,
        title,
        partial(packet_cpus.drawing, packet, name),
        packet_cpus.WIDTH,
        packet_cpus.LEAST,
    )
    said = [
        f"{words.signed(ns / 1e3)}: {printable(text)}"
        for ns, text in why_words.named_causes(packet)
    ]
    parts = [v.Picture(drawn.inline, drawn), v.Items(said)]
    return v.unfolded(title, parts, opened=opened)


def _table(found: Sequence[tuple[Group, AtQuantile]]) -> v.Table:
    """Return the causes near quantiles in numbers."""
    times = [by_name(near.causes) for _, near in found]
    names = [name for name in TOGETHER if any(abs(each[name]) >= LEAST_NS for each in times)]
    columns = (*FIRST, *map(v.Column, names))
    rows = [_row(group, near, names) for group, near in found]
    return v.Table(columns, rows, "Causes", NOTE, key="causes")


def study_json(report: Report) -> JsonObject:
    """Return the causes near quantiles of each combination of levels."""
    found = [_json(group, near) for group in report.groups for near in _of(group)]
    return {"causes": found} if found else {}


def _of(group: Group) -> Sequence[AtQuantile]:
    return group.packets.causes.near if group.packets else ()


def _slowest(groups: Sequence[Group]) -> list[LookedAt]:
    """Return the slowest packets of all groups by turns, the one with the largest excess first.

    By excess alone they would all be of the load that makes packets the slowest.
    """
    of_each = [group.packets.causes.slowest for group in groups if group.packets]
    ranked = [(place, packet) for each in of_each for place, packet in enumerate(each)]
    ranked.sort(key=lambda pair: (pair[0], -pair[1].explained.excess_ns))
    chosen = (packet for _, packet in ranked[:SLOWEST])
    return sorted(chosen, key=lambda packet: -packet.explained.excess_ns)


def _json(group: Group, near: AtQuantile) -> JsonObject:
    return {
        "levels": group.label,
        "near": near.name,
        "rtt_us": near.rtt_ns / 1e3,
        "more_than_usual_us": {cause.value: ns / 1e3 for cause, ns in near.causes.items()},
    }


def _row(group: Group, near: AtQuantile, names: Sequence[str]) -> v.Row:
    times = by_name(near.causes)
    values = [
        v.Value(f"{_key(name)}_us", times[name] / 1e3, "us", how=written.signed) for name in names
    ]
    return [group.label, near.name, v.Value("rtt_us", near.rtt_ns / 1e3, "us"), *values]


def _key(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")
