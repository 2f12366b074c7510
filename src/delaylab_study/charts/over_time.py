"""Chart of round trips over time, with the load and the machine's state below them."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import shorten

from delaylab_study.analysis.group import Group
from delaylab_study.analysis.over_time.changes import NONE, ChangeInWords, Changes
from delaylab_study.analysis.over_time.slowest import SlowPacket
from delaylab_study.analysis.over_time.timeline import RttsOverTime
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import (
    INK,
    Chart,
    Rows,
    colour,
    delay_scale,
    delay_ticks,
    inline,
    render,
    ticks_between,
)
from delaylab_study.charts.words import seconds

# Largest number of trials that are drawn.
TRIALS = 8
WIDTH, HEIGHT, BELOW = 470, 130, 56
# Ratio of the largest RTT to the smallest one below which the axis is linear.
CLOSE = 4
TICK = (
    "datum.value >= 1000 ? format(datum.value / 1000, '.4~r') + ' ms' "
    ": format(datum.value, '.3~r') + ' µs'"
)
AT_REST, UNDER_LOAD, LOST = "at rest", "measured", "no reply"
RED = "#B3372A"
LOST_PX = 9
"""The height of the mark of a packet without a reply, at the top of a panel."""
LABELLED, LETTERS = 4, 34
"""The largest number of outages, and of changes, that a panel labels; the longest label."""
LOST_SAID = (
    " A red mark at the top is a packet without a reply, when it was sent. A red band is an "
    "outage, with the time from its first lost packet to its last."
)
RING_SAID = " A ring is one of the slowest packets."
CHANGES_SAID = (
    " A dashed line is a change by the lab's timeline, counted from the first packet under load."
)
STATES = {"busy": "busy", "pressure": "waiting for a CPU", "steal": "stolen"}
COLOURS = {"busy": "#009E73", "waiting for a CPU": "#D55E00", "stolen": "#CC79A7"}


def over_time(groups: list[Group], changes: Changes = NONE) -> Chart | None:
    """Return the chart of the trials that stand out most, in the study's order.

    Those with the longest outages stand out most, then those with the most unusual packets.
    `changes` are those of the labs' timelines.
    """
    drawn = _chosen(groups, changes)
    if not drawn:
        return None
    lost = any(len(each.line.lost_s) for each in drawn)
    panels = [_panel(each, lost=lost) for each in drawn]
    all_of_them = sum(len(group.packets.timelines) for group in groups if group.packets)
    some = (
        f" {len(drawn)} of {all_of_them} trials, those with the longest outages and the most "
        "unusual packets."
    )
    signs = RING_SAID if any(each.slowest for each in drawn) else ""
    signs += LOST_SAID if lost else ""
    signs += CHANGES_SAID if any(each.changes for each in drawn) else ""
    chart = alt.concat(*panels, columns=2 if len(panels) > 1 else 1, spacing=26)
    return render(
        "rtt-over-time",
        "User RTT over time, with the load and the machine's state",
        "Above: user RTTs, round trip; of a long trial the slowest and the middle one of each "
        "stretch of packets. The shaded time is that of the load and of the packets that count. "
        "Below: shares of all CPUs' time that were busy or stolen by a hypervisor, and of the time "
        "in which some task waited for a CPU. A spike in the delay without a rise below was not "
        f"caused by this machine's CPUs.{signs}{some if len(drawn) < all_of_them else ''}",
        chart.resolve_scale(color="shared"),
    )


def drawn_trials(groups: list[Group], changes: Changes = NONE) -> frozenset[str]:
    """Return the trials that the chart draws, by their ids."""
    return frozenset(each.line.trial for each in _chosen(groups, changes))


def anchor(group: Group, packet: SlowPacket) -> str:
    """Return the name of a slow packet's line on the page."""
    indices = {trial.id: trial.index for trial in group.trials}
    return f"slow-{indices[packet.trial]}-{packet.probe}-{packet.seq}"


def dot_of(name: str) -> str:
    """Return the name of the dot of the packet whose line has this name."""
    return f"dot-{name}"


@dataclass(frozen=True, slots=True)
class _DrawnTrial:
    """A trial to draw: its timeline's changes, its slowest packets and how unusual they are."""

    line: RttsOverTime
    title: str
    changes: list[ChangeInWords]
    unusual: float
    slowest: list[tuple[str, SlowPacket]]

    @property
    def rank(self) -> tuple[float, float]:
        """Return the key that is smallest for the trial that stands out most."""
        longest = max((outage.least_s for outage in self.line.outages), default=0.0)
        return -longest, -self.unusual


def _chosen(groups: list[Group], changes: Changes) -> list[_DrawnTrial]:
    known = [
        _DrawnTrial(
            line,
            ", ".join(part for part in (group.label_of(line.trial), group.emulation) if part),
            changes.of(group.factors),
            max((s.times for s in packets.slowest if s.trial == line.trial), default=0.0),
            [(anchor(group, s), s) for s in packets.slowest if s.trial == line.trial],
        )
        for group in groups
        if (packets := group.packets)
        for line in packets.timelines
        if len(line.after_s) or line.outages
    ]
    ranked = sorted(range(len(known)), key=lambda index: known[index].rank)
    return [known[index] for index in sorted(ranked[:TRIALS])]


def _panel(drawn: _DrawnTrial, *, lost: bool) -> alt.VConcatChart:
    line = drawn.line
    ends = [*line.after_s[-1:].tolist(), *line.lost_s[-1:].tolist()]
    end = max(*ends, *line.states["after_s"].tail(1).to_list(), 0.001)
    scale = alt.Scale(domain=[0, end], nice=False)
    above = [_load(line, scale)] if line.load_s else []
    if line.outages:
        above += _outages(line, scale)
    above.append(_packets(line, scale, lost=lost))
    if drawn.slowest:
        above.append(_slowest(drawn.slowest, scale))
    if len(line.lost_s):
        above.append(_lost(line, scale))
    if drawn.changes and line.load_s:
        above += _changes(drawn.changes, line.load_s, scale)
    return alt.vconcat(
        alt.layer(*above).properties(width=WIDTH, height=HEIGHT, title=drawn.title),
        _states(line, scale).properties(width=WIDTH, height=BELOW),
        spacing=4,
    )


def _load(line: RttsOverTime, scale: alt.Scale) -> alt.Chart:
    start, end = line.load_s or (0.0, 0.0)
    chart: alt.Chart = (
        alt.Chart(inline([{"start": start, "end": end}]))
        .mark_rect(color=INK, opacity=0.07)
        .encode(x=alt.X("start:Q", scale=scale), x2="end:Q")
    )
    return chart


def _lost(line: RttsOverTime, scale: alt.Scale) -> alt.Chart:
    """Return a mark at the top for each packet that got no reply."""
    rows: Rows = [{"s": s, "phase": LOST} for s in line.lost_s.tolist()]
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_rule(strokeWidth=1.2, aria=False)
        .encode(x=alt.X("s:Q", scale=scale), y=alt.value(0), y2=alt.value(LOST_PX), color="phase:N")
    )
    return chart


def _slowest(found: list[tuple[str, SlowPacket]], scale: alt.Scale) -> alt.Chart:
    """Return a ring for each of the slowest packets, which leads to its line on the page."""
    rows = inline(
        [{"s": packet.after_s, "us": packet.rtt_us, "href": f"#{name}"} for name, packet in found]
    )
    chart: alt.Chart = (
        alt.Chart(rows)
        .mark_point(size=46, color=INK, strokeWidth=1.2, fill="transparent", aria=False)
        .encode(x=alt.X("s:Q", scale=scale), y=alt.Y("us:Q"), href="href:N")
    )
    return chart


def _outages(line: RttsOverTime, scale: alt.Scale) -> list[alt.Chart]:
    """Return a band for each outage, and how long the longest lasted at least."""
    longest = sorted(line.outages, key=lambda each: -each.least_s)[:LABELLED]
    rows: Rows = [
        {
            "start": outage.start_s,
            "end": outage.end_s,
            "text": seconds(outage.least_s) if outage in longest else "",
        }
        for outage in line.outages
    ]
    base = alt.Chart(inline(rows)).encode(x=alt.X("start:Q", scale=scale))
    return [
        base.mark_rect(color=RED, opacity=0.14).encode(x2="end:Q"),
        base.mark_text(align="left", dx=3, fontSize=10, color=RED).encode(
            y=alt.value(LOST_PX + 8), text="text:N"
        ),
    ]


def _changes(
    changes: list[ChangeInWords], load_s: tuple[float, float], scale: alt.Scale
) -> list[alt.Chart]:
    """Return a dashed line for each change under load, with what it changed for the first ones."""
    start, end = load_s
    inside = [each for each in changes if start + each.at_s <= end]
    rows: Rows = [
        {
            "s": start + each.at_s,
            "text": shorten(each.what, LETTERS, placeholder="…") if index < LABELLED else "",
            "y": HEIGHT - 6 - 12 * (index % LABELLED),
        }
        for index, each in enumerate(inside)
    ]
    base = alt.Chart(inline(rows)).encode(x=alt.X("s:Q", scale=scale))
    lines = base.mark_rule(color=INK, strokeDash=[4, 3], opacity=0.7)
    texts = [
        alt.Chart(inline([row]))
        .mark_text(align="left", dx=3, fontSize=9, color=INK)
        .encode(x=alt.X("s:Q", scale=scale), y=alt.value(row["y"]), text="text:N")
        for row in rows
        if row["text"]
    ]
    return [lines, *texts] if rows else []


def _packets(line: RttsOverTime, scale: alt.Scale, *, lost: bool) -> alt.Chart:
    points = zip(line.after_s.tolist(), line.user_us.tolist(), line.phases, strict=True)
    rows: Rows = [
        {"s": s, "us": us, "phase": UNDER_LOAD if phase in ("load", "again") else AT_REST}
        for s, us, phase in points
        if us > 0
    ]
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_circle(size=10, opacity=1, aria=False)
        .encode(
            x=alt.X("s:Q", scale=scale, title=None, axis=alt.Axis(labels=False)),
            y=_rtt_axis(rows),
            color=colour(
                "phase",
                [AT_REST, UNDER_LOAD, *([LOST] if lost else []), *COLOURS],
                {AT_REST: "#7a8088", UNDER_LOAD: "#0072B2", LOST: RED, **COLOURS},
                "",
            ),
        )
    )
    return chart


def _rtt_axis(rows: Rows) -> alt.Y:
    """Return an axis for the RTTs, a logarithmic one unless they lie close together."""
    us = [row["us"] for row in rows]
    least, most = min(us, default=1.0), max(us, default=1.0)
    if most / least < CLOSE:
        scale = alt.Scale(zero=False, nice=True)
        axis = alt.Axis(labelExpr=TICK, tickCount=4)
        return alt.Y("us:Q", title="user RTT", scale=scale, axis=axis)
    axis = delay_ticks(ticks_between(least, most))
    return alt.Y("us:Q", title="user RTT (log)", scale=delay_scale(), axis=axis)


def _states(line: RttsOverTime, scale: alt.Scale) -> alt.Chart:
    rows: Rows = [
        {"s": row["after_s"], "share": row[name], "phase": said}
        for row in line.states.iter_rows(named=True)
        for name, said in STATES.items()
        if row[name] is not None and row["after_s"] >= 0
    ]
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_line(interpolate="step-before", strokeWidth=1.5, clip=True)
        .encode(
            x=alt.X("s:Q", scale=scale, title="time (s)"),
            y=alt.Y(
                "share:Q",
                title="share of time",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=2),
            ),
            color="phase:N",
        )
    )
    return chart
