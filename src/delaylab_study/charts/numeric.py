"""Drawing of the user RTT along a factor whose levels are numbers."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab_study.analysis.compared.numbers import Numbers
from delaylab_study.analysis.group import Group, in_words
from delaylab_study.charts.boxes import COLOURS, coloured, delay_y
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import Chart, Rows, inline, render, seen, ticks_of

WIDE = 20
"""The ratio of the largest number to the smallest from which on their axis is logarithmic."""
LINES = len(COLOURS)
"""The most combinations of other levels that are drawn, each with a colour of its own."""
ALL = "all trials"


def along(factor: str, numbers: Numbers, groups: Sequence[Group]) -> Chart | None:
    """Return the median and the p99 of the user RTT along a factor, a line for each combination."""
    rows: Rows = []
    for group in groups:
        level = group.factors.get(factor, "")
        if level not in numbers.values or "app" not in group.rtt:
            continue
        others = {f: other for f, other in group.factors.items() if f != factor}
        for name in ("median", "p99"):
            found = group.rtt["app"].quantiles[name]
            if found.value is None:
                continue
            low, high = found.interval or (found.value, found.value)
            rows.append(
                {
                    "at": numbers.values[level],
                    "us": found.value,
                    "low": max(low, 0.1),
                    "high": high,
                    "of": in_words(others) or ALL,
                    "statistic": name,
                }
            )
    kept = seen(rows, "of")[:LINES]
    rows = [row for row in rows if row["of"] in kept]
    if len({row["at"] for row in rows}) < 2:
        return None
    ticks = ticks_of(rows, "us")
    base = alt.Chart().encode(
        x=along_axis(factor, numbers),
        color=coloured(rows, "of").title(None) if kept != [ALL] else alt.value(COLOURS[1]),
        strokeDash=alt.StrokeDash(
            "statistic:N",
            title="quantile",
            scale=alt.Scale(domain=seen(rows, "statistic"), range=[[1, 0], [4, 3]]),
        ),
    )
    chart = alt.LayerChart(
        layer=[
            base.mark_line(strokeWidth=2).encode(
                y=delay_y("user RTT, round trip (log)", ticks=ticks)
            ),
            base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q", strokeDash=alt.value([1, 0])),
            base.mark_point(filled=True, size=40, opacity=1).encode(
                y=alt.Y("us:Q"), strokeDash=alt.value([1, 0])
            ),
        ],
        data=inline(rows),
    ).properties(width=640, height=260)
    return render(
        f"rtt-along-{factor}",
        f"User RTT along {factor}",
        f"The median and the p99 of the user RTT, round trip, at each {factor}, with their 95 % "
        "intervals. A quantile that too few independent packets carry is left out.",
        chart,
    )


def along_axis(factor: str, numbers: Numbers) -> alt.X:
    """Return an axis of a factor's numbers, with a tick at each level, named as in the study."""
    places = [*numbers.values.values()]
    logarithmic = places[0] > 0 and places[-1] / places[0] >= WIDE
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False, nice=False)
    text = "".join(f"{_is(place)} ? '{name}' : " for name, place in numbers.values.items())
    axis = alt.Axis(values=places, labelExpr=f"{text}''", labelOverlap="greedy")
    title = f"{factor} (log)" if logarithmic else factor
    return alt.X("at:Q", title=title, scale=scale, axis=axis)


def _is(place: float) -> str:
    return f"abs(datum.value - {place!r}) <= {abs(place) * 1e-9!r}"
