"""Chart of round trips over time, with the load and the machine's state below them."""

from __future__ import annotations

from delaylab.analysis.group import Group
from delaylab.analysis.over_time.timeline import Timeline
from delaylab.charts.lazy import alt
from delaylab.charts.vega import (
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

# Largest number of trials that are drawn.
TRIALS = 8
WIDTH, HEIGHT, BELOW = 470, 130, 56
# Ratio of the largest RTT to the smallest one below which the axis is linear.
CLOSE = 4
TICK = (
    "datum.value >= 1000 ? format(datum.value / 1000, '.4~r') + ' ms' "
    ": format(datum.value, '.3~r') + ' µs'"
)
AT_REST, UNDER_LOAD = "at rest", "measured"
STATES = {"busy": "busy", "pressure": "waiting for a CPU", "steal": "stolen"}
COLOURS = {"busy": "#009E73", "waiting for a CPU": "#D55E00", "stolen": "#CC79A7"}


def over_time(groups: list[Group]) -> Chart | None:
    """Return the chart of the trials whose slowest packets stand out most, in the study's order."""
    drawn = _chosen(groups)
    if not drawn:
        return None
    panels = [_panel(line, title) for line, title in drawn]
    all_of_them = sum(len(group.timelines) for group in groups)
    some = f" {len(drawn)} of {all_of_them} trials, those with the most unusual packets."
    chart = alt.concat(*panels, columns=2 if len(panels) > 1 else 1, spacing=26)
    return render(
        "rtt-over-time",
        "User RTT over time, with the load and the machine's state",
        "Above: user RTTs, round trip; of a long trial the slowest and the middle one of each "
        "stretch of packets. The shaded time is that of the load and of the packets that count. "
        "Below: shares of all CPUs' time that were busy or stolen by a hypervisor, and of the time "
        "in which some task waited for a CPU. A spike above a bare place below is not this "
        f"machine's CPUs.{some if len(drawn) < all_of_them else ''}",
        chart.resolve_scale(color="shared"),
    )


def _chosen(groups: list[Group]) -> list[tuple[Timeline, str]]:
    known = [
        (max((s.times for s in group.slowest if s.trial == line.trial), default=0.0), line, title)
        for group in groups
        for number, line in enumerate(group.timelines, start=1)
        for title in [_title(group, number)]
        if len(line.after_s)
    ]
    ranked = sorted(range(len(known)), key=lambda index: -known[index][0])
    return [known[index][1:] for index in sorted(ranked[:TRIALS])]


def _title(group: Group, number: int) -> str:
    repeat = f"repeat {number}" if number > 1 else ""
    return ", ".join(part for part in (group.label, repeat, group.emulation) if part)


def _panel(line: Timeline, title: str) -> alt.VConcatChart:
    end = max(float(line.after_s[-1]), *line.states["after_s"].tail(1).to_list(), 0.001)
    scale = alt.Scale(domain=[0, end], nice=False)
    above = [_load(line, scale)] if line.load_s else []
    above.append(_packets(line, scale))
    return alt.vconcat(
        alt.layer(*above).properties(width=WIDTH, height=HEIGHT, title=title),
        _states(line, scale).properties(width=WIDTH, height=BELOW),
        spacing=4,
    )


def _load(line: Timeline, scale: alt.Scale) -> alt.Chart:
    start, end = line.load_s or (0.0, 0.0)
    chart: alt.Chart = (
        alt.Chart(inline([{"start": start, "end": end}]))
        .mark_rect(color=INK, opacity=0.07)
        .encode(x=alt.X("start:Q", scale=scale), x2="end:Q")
    )
    return chart


def _packets(line: Timeline, scale: alt.Scale) -> alt.Chart:
    points = zip(line.after_s.tolist(), line.user_us.tolist(), line.phases, strict=True)
    rows: Rows = [
        {"s": s, "us": us, "phase": UNDER_LOAD if phase == "load" else AT_REST}
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
                [AT_REST, UNDER_LOAD, *COLOURS],
                {AT_REST: "#7a8088", UNDER_LOAD: "#0072B2", **COLOURS},
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


def _states(line: Timeline, scale: alt.Scale) -> alt.Chart:
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
