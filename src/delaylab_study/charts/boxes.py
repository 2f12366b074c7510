"""Box plots and lines over the number of background nodes, from groups of a factorial study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import (
    INK,
    Row,
    Rows,
    delay_scale,
    delay_ticks,
    inline,
    seen,
    ticks_of,
)

# Whiskers reach to these quantiles; the box to the quartiles.
WHISKERS = (0.05, 0.95)
WHISKERS_SAID = "Box: quartiles and median; whiskers: 5 % and 95 %."
BOX_AXIS = "RTT: 5 %, quartiles, 95 % (log)"
"""The title of the axis, since an exported drawing has no caption."""
WIDTHS = {1: 640, 2: 330, 3: 230}
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933"]


def five(values: Floats, **names: str | int) -> Row:
    """Return the five numbers of a box as a row; all delays must be above 0 µs."""
    shares = (WHISKERS[0], 0.25, 0.5, 0.75, WHISKERS[1])
    points = np.maximum(np.quantile(values, shares), 0.1)
    return dict(zip(("low", "q1", "us", "q3", "high"), points.tolist(), strict=True)) | names


def box_plot(
    rows: Rows, x: str, title: str, order: Sequence[Any], colour: str | None = None
) -> alt.LayerChart:
    """Return boxes side by side; `colour` is the field whose values stand beside each other."""
    base = alt.Chart(inline(rows)).encode(x=alt.X(f"{x}:N", title=title, sort=list(order)))
    if colour is not None:
        base = base.encode(xOffset=alt.XOffset(f"{colour}:N"), color=coloured(rows, colour))
    ticks = ticks_of(rows, "low", "high")
    low, box, middle = (delay_y(BOX_AXIS, field, ticks) for field in ("low", "q1", "us"))
    return alt.LayerChart(
        layer=[
            base.mark_rule().encode(y=low, y2="high:Q"),
            base.mark_bar(size=9, opacity=0.75).encode(y=box, y2="q3:Q"),
            base.mark_tick(color=INK, size=11, thickness=2).encode(y=middle),
        ]
    )


def delay_y(title: str, field: str = "us", ticks: list[float] | None = None) -> alt.Y:
    """Return a logarithmic vertical axis of delays in µs, with these ticks or one per decade."""
    return alt.Y(f"{field}:Q", title=title, scale=delay_scale(), axis=delay_ticks(ticks))


def lines(
    rows: Rows, x: str, title: str, order: Sequence[Any], colour: str, *, of: str = "RTT (log)"
) -> alt.Chart:
    """Return one line for each value of `colour`; `of` is the title of the axis of delays."""
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X(f"{x}:N", title=title, sort=list(order)),
            y=delay_y(of, ticks=ticks_of(rows, "us")),
            color=coloured(rows, colour),
        )
    )
    return chart


def filled(rows: Rows, column: str, row: str) -> Rows:
    """Return the rows, plus an empty one for every panel of a grid that has none.

    Without these the renderer would move other panels into the empty places.
    """
    columns, lines_ = seen(rows, column), seen(rows, row)
    have = {(each[column], each[row]) for each in rows}
    blank = dict.fromkeys(("low", "q1", "us", "q3", "high", "per_s"))
    empty = [
        {**rows[0], **blank, column: c, row: r}
        for c in columns
        for r in lines_
        if (c, r) not in have
    ]
    return [*rows, *empty]


def coloured(rows: Rows, field: str) -> alt.Color:
    """Return a colour for each value of a field, in their order of appearance."""
    values = seen(rows, field)
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=values, range=COLOURS[: len(values)]))


def grid(chart: alt.Chart | alt.LayerChart, rows: Rows, column: str, row: str) -> alt.FacetChart:
    """Return a chart repeated for every pair of values of two fields; rows must be `filled`."""
    columns = seen(rows, column)
    head = alt.Header(title=None, labelFontSize=12, labelFontWeight=600)
    return chart.properties(width=WIDTHS.get(len(columns), 200), height=190).facet(
        column=alt.Column(f"{column}:N", header=head, sort=columns),
        row=alt.Row(f"{row}:N", header=head, sort=seen(rows, row)),
    )
