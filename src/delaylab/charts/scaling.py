"""Chart of work over the number of nodes: run times with their law, and the residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from delaylab.analysis.scaling.law import POOR, Scaling
from delaylab.analysis.scaling.series import ScaledWork
from delaylab.charts.lazy import alt
from delaylab.charts.vega import INK, OTHER, Chart, Rows, inline, render

# Largest number of series that are drawn.
SERIES = 6
WIDTH, HEIGHT, BELOW = 420, 220, 90
STEPS = 120
LAW = "#D55E00"
PERCENT = "datum.value ? format(datum.value, '+.0%') : '0'"


def scaling_charts(found: Sequence[ScaledWork]) -> list[Chart]:
    """Return a chart for each series, of the first `SERIES`."""
    return [_chart(number, each) for number, each in enumerate(found[:SERIES], start=1)]


def _chart(number: int, found: ScaledWork) -> Chart:
    scaling = found.scaling
    x = alt.X(
        "nodes:Q",
        title="nodes that work at once",
        scale=alt.Scale(domain=[0, scaling.nodes[-1] * 1.05], nice=False),
        axis=alt.Axis(values=list(scaling.nodes), format="d"),
    )
    times = alt.layer(*_law(x, scaling), _trials(x, scaling)).properties(width=WIDTH, height=HEIGHT)
    below = [_residuals(x, scaling)] if scaling.law is not None else []
    where = f", {found.label}" if found.label else ""
    return render(
        f"scaling-{number}-{found.work}",
        f"Run time of {found.work} over the number of nodes",
        f"{found.of[:1].upper()}{found.of[1:]}{where}. Each point is a trial. "
        f"{_explained(scaling)}",
        alt.vconcat(times, *below, spacing=14),
    )


def _explained(scaling: Scaling) -> str:
    """Return in words what is drawn beside the trials."""
    if scaling.law is None:
        return f"There is no law: {scaling.refused}."
    return (
        "The line is the law. Below are the residuals of the means: measured less law, in % of the "
        f"measured time. Outside the dashed lines, at {100 * POOR:.0f} %, nothing is predicted."
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


def _law(x: alt.X, scaling: Scaling) -> list[alt.Chart]:
    if scaling.law is None:
        return []
    # With the measured numbers among them, a law's corner is drawn where it is.
    at = np.union1d(np.linspace(1, scaling.nodes[-1], STEPS), [*scaling.nodes])
    corner = scaling.law.cpus
    at = at if corner is None else np.union1d(at, [min(corner, scaling.nodes[-1])])
    rows: Rows = [
        {"nodes": float(nodes), "s": float(s)}
        for nodes, s in zip(at, scaling.law.at(at), strict=True)
    ]
    return [alt.Chart(inline(rows)).mark_line(color=LAW, strokeWidth=2).encode(x=x, y="s:Q")]


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
