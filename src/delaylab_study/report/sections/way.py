"""The packet's way: delays by layer and direction, and round trips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import starmap

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group, GroupPackets, SegmentSummary
from delaylab_study.analysis.statistics.quantiles import Summary
from delaylab_study.charts.fitted import TooNarrow, scaled, sized
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.arrange import Panel, panels
from delaylab_study.report.packet_path import DEEP, RAMP, SWITCH, drawing
from delaylab_study.report.sections.section import Report, interval, quantile
from delaylab_study.report.standing_path import standing
from delaylab_study.report.way_in_terminal import tables

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
POINT = (
    "Point at a cell for n and the 95 % intervals, and for how many packets a figure needs that is "
    "a dash; or open the table."
)
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
        try:
            return scaled(self.svg, width)
        except TooNarrow:
            return sized(standing(self.panel, width), width)

    def inline(self) -> str:
        """Return the SVG with the page's own text colour as its ink."""
        return self.svg.replace(' color="#20242a"', "", 1)


def section(report: Report) -> v.Section:
    """Return the delays by layer and direction: drawn, and as tables; in a terminal of each panel.

    A panel with many groups has its round trips alone there.
    """
    parts = [v.Lazy(lambda width: tables(report.groups, width), on=v.TERMINAL)]
    page = [v.Lazy(lambda _: _page(report), on=v.PAGE + v.DATA)] if report.probed else []
    return v.Section("way", [*parts, *page])


def _page(report: Report) -> Iterator[v.Part]:
    clocks = any(group.packets and group.packets.clocks for group in report.groups)
    yield v.Heading("The packet's way", 2)
    yield v.note((NOTE, KEY, BOUNDED if clocks else " ", POINT))
    for index, panel in enumerate(panels(report.groups), start=1):
        way = WayDrawing(f"way-{index}-{panel.groups[0].kind}", panel)
        many = len(panel.groups)
        yield v.Heading(panel.heading)
        yield v.unfolded(f"{many} rows", [v.Picture(way.inline, way, SWITCH)], when=many > WAY_ROWS)
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
        "needs": {found.key: asdict(found.needs) for found in quantiles if found.needs},
    }
