"""Chart of work over the number of nodes: run times with their law, and the residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from delaylab_study.analysis.scaling.law import POOR, Law, Scaling
from delaylab_study.analysis.scaling.series import ScaledWork
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import INK, OTHER, Chart, Rows, inline, render

# Largest number of series that are drawn.
SERIES = 6
WIDTH, HEIGHT, BELOW = 420, 220, 90
STEPS = 120
LAW = "#D55E00"
PERCENT = "datum.value ? format(datum.value, '+.0%') : '0'"


def scaling_charts(series: Sequence[ScaledWork]) -> list[Chart]:
    """Return a chart for each series with a law, of the first `SERIES`."""
    fitted = [(each, each.scaling.law) for each in series if each.scaling.law is not None]
    return [_chart(at, each, law) for at, (each, law) in enumerate(fitted[:SERIES], start=1)]


def _chart(number: int, series: ScaledWork, law: Law) -> Chart:
    scaling = series.scaling
    x = alt.X(
        "nodes:Q",
        title="nodes that work at once",
        scale=alt.Scale(domain=[0, scaling.nodes[-1] * 1.05], nice=False),
        axis=alt.Axis(values=list(scaling.nodes), format="d"),
    )
    times = alt.layer(_law(x, scaling, law), _trials(x, scaling))
    where = f", {series.label}" if series.label else ""
    return render(
        f"scaling-{number}-{series.work}",
        f"Run time of {series.work} over the number of nodes",
        f"{series.of[:1].upper()}{series.of[1:]}{where}. Each point is a trial. "
        "The line is the law. Below are the residuals of the means: measured less law, in % of the "
        f"measured time. Outside the dashed lines, at {100 * POOR:.0f} %, nothing is predicted.",
        alt.vconcat(
            times.properties(width=WIDTH, height=HEIGHT), _residuals(x, scaling), spacing=14
        ),
    )


def _trials(x: alt.X, scaling: Scaling) -> alt.Chart:
    rows: Rows = [
        {"nodes": nodes, "s": float(block[at])}
        for block in scaling.blocks_s
        for at, nodes in enumerate(scaling.nodes)
    ]
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_circle(size=46, color=OTHER, opacity=0.75)
        .encode(x=x, y=alt.Y("s:Q", title="T(N) in s", axis=alt.Axis(tickCount=5)))
    )
    return chart


def _law(x: alt.X, scaling: Scaling, law: Law) -> alt.Chart:
    # With the measured numbers among them, a law's corner is drawn where it is.
    at = np.union1d(np.linspace(1, scaling.nodes[-1], STEPS), [*scaling.nodes])
    corner = law.cpus
    at = at if corner is None else np.union1d(at, [min(corner, scaling.nodes[-1])])
    rows: Rows = [
        {"nodes": float(nodes), "s": float(s)} for nodes, s in zip(at, law.at(at), strict=True)
    ]
    line = alt.Chart(inline(rows)).mark_line(color=LAW, strokeWidth=2)
    chart: alt.Chart = line.encode(x=x, y="s:Q")
    return chart


def _residuals(x: alt.X, scaling: Scaling) -> alt.LayerChart | alt.FacetChart:
    residuals = scaling.residuals
    rows: Rows = [
        {"nodes": nodes, "residual": residual, "zero": 0.0}
        for nodes, residual in zip(scaling.nodes, residuals, strict=True)
    ]
    most = 1.2 * max(POOR, *map(abs, residuals))
    y = alt.Y(
        "residual:Q",
        title="residual",
        scale=alt.Scale(domain=[-most, most], nice=False),
        axis=alt.Axis(labelExpr=PERCENT, values=[-POOR, 0, POOR]),
    )
    points = alt.Chart(inline(rows)).mark_circle(size=46, color=OTHER).encode(x=x, y=y)
    stems = alt.Chart(inline(rows)).mark_rule(color=OTHER).encode(x=x, y=y, y2="zero:Q")
    limits: Rows = [{"residual": -POOR}, {"residual": POOR}]
    dashed = (
        alt.Chart(inline(limits))
        .mark_rule(color=INK, strokeDash=[4, 3], opacity=0.6)
        .encode(y="residual:Q")
    )
    zero = alt.Chart(inline([{"residual": 0.0}])).mark_rule(color=INK).encode(y="residual:Q")
    layers = alt.layer(dashed, zero, stems, points)
    return layers.properties(width=WIDTH, height=BELOW)
