"""Drawings of levels, or of datasets, on one axis: their user RTTs, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from delaylab_study.analysis.claims.groups import samples
from delaylab_study.analysis.compared.levels import FactorLevels
from delaylab_study.analysis.group import Group, in_words
from delaylab_study.analysis.statistics.curves import ecdf
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.charts.fitted import even
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.numeric import ALL, along
from delaylab_study.charts.vega import (
    Chart,
    Row,
    Rows,
    delay_scale,
    delay_ticks,
    inline,
    render,
    seen,
    setup_colours,
    ticks_of_panels,
)

PANELS = 12
"""The most scenarios that are drawn; tables have all of them."""
DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3]]
"""The dashes of lines, which tell them apart in print, too."""
WIDE = 30
"""The ratio of the largest difference to the smallest from which on the axis is logarithmic on
either side of 0."""
MOST_COLUMNS = 3
WIDTH = {1: 680, 2: 325, 3: 210}
"""The width of a panel, by the number of panels in a row: on A4 letters have 7 pt then."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The user RTT of a group, to be drawn in the panel of its scenario under a name."""

    scenario: str
    name: str
    group: Group


@dataclass(frozen=True, slots=True)
class Dot:
    """The difference of a named side from the reference in a scenario, in µs."""

    scenario: str
    name: str
    effect: Effect


def factor_charts(of: FactorLevels, groups: Sequence[Group]) -> list[Chart]:
    """Return the drawings of a factor: the CDF of all its levels, and what each adds."""
    curves = [
        Curve(_without(of.factor, group), level, group)
        for level in (of.reference, *of.levels)
        for group in groups
        if group.factors.get(of.factor) == level
    ]
    dots = [
        Dot(in_words(contrast.scenario) or ALL, contrast.level, contrast.effect)
        for contrast in of.contrasts
        if contrast.statistic == "median"
    ]
    charts = (
        along(of.factor, of.numbers, groups) if of.numbers else None,
        rtt_curves(curves, of.factor, f"rtt-by-{of.factor}"),
        differences(dots, of.factor, of.reference, f"added-by-{of.factor}"),
    )
    return [chart for chart in charts if chart is not None]


def rtt_curves(curves: Sequence[Curve], title: str, name: str) -> Chart | None:
    """Return the CDF of the user RTT: one line for each name, one panel for each scenario."""
    rows: Rows = []
    for each in curves:
        values = samples(each.group, "app")
        if values is None:
            continue
        us, shares = ecdf(values[values > 0])
        rows += [
            {"us": at, "y": share, "scenario": each.scenario, "of": each.name}
            for at, share in zip(us.tolist(), shares.tolist(), strict=True)
        ]
    rows, cut = _first_scenarios(rows)
    if not rows:
        return None
    names = seen(rows, "of")
    chart = (
        alt.Chart(inline(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "us:Q",
                title="user RTT, round trip (log)",
                scale=delay_scale(),
                axis=delay_ticks(ticks_of_panels(rows, "scenario", "us")),
            ),
            y=alt.Y("y:Q", title="share of packets", axis=alt.Axis(format="%", tickCount=5)),
            color=alt.Color(
                "of:N",
                title=title,
                legend=alt.Legend(orient="bottom"),
                scale=alt.Scale(domain=names, range=[*setup_colours(names).values()]),
            ),
            strokeDash=alt.StrokeDash(
                "of:N",
                title=title,
                legend=alt.Legend(orient="bottom"),
                scale=alt.Scale(
                    domain=names, range=[DASHES[at % len(DASHES)] for at in range(len(names))]
                ),
            ),
        )
    )
    return render(
        name,
        f"User RTT by {title}",
        f"Share of packets under load whose user RTT (round trip) is at most x.{cut}",
        _panels(chart, seen(rows, "scenario")),
    )


def differences(
    dots: Sequence[Dot], title: str, reference: str, name: str, level: str = "95 %"
) -> Chart | None:
    """Return the difference of the median user RTT from the reference, with intervals.

    A name has the same colour as in `rtt_curves` if the reference is the first one there.
    """
    rows: Rows = [_row(each) for each in dots]
    rows, cut = _first_scenarios(rows)
    if not rows:
        return None
    names = seen(rows, "of")
    known = setup_colours([reference, *names])
    colours = alt.Scale(domain=names, range=[known[name] for name in names])
    base = alt.Chart().encode(
        x=_axis(f"median RTT − that of {reference}", rows),
        y=alt.Y("of:N", title=None, sort=names),
        color=alt.Color("of:N", legend=None, scale=colours),
    )
    chart = alt.LayerChart(
        layer=[
            base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q"),
            base.mark_point(size=70, filled=True, opacity=1),
        ],
        data=inline(rows),
    ).properties(width=640, height=alt.Step(24))
    return render(
        name,
        f"Difference from {reference}, by {title}",
        f"The difference of the medians (round trip), with its {level} interval. A dot without a "
        f"line has too few independent packets for an interval.{cut}",
        _panels(chart, seen(rows, "scenario"), columns=1),
    )


def _row(dot: Dot) -> Row:
    low, high = dot.effect.interval
    known = isfinite(low) and isfinite(high)
    return {
        "us": dot.effect.value,
        "low": low if known else dot.effect.value,
        "high": high if known else dot.effect.value,
        "scenario": dot.scenario,
        "of": dot.name,
    }


def _axis(title: str, rows: Rows) -> alt.X:
    """Return an axis of differences, on which 0 stands out.

    It is logarithmic on either side of 0 if the differences are of very different sizes.
    """
    least, most = _spread(rows)
    largest = max(max(abs(row["low"]), abs(row["high"])) for row in rows)
    sign = "(datum.value > 0 ? '+' : datum.value < 0 ? '−' : '')"
    size = "(abs(datum.value) >= 1000 ? abs(datum.value) / 1000 + ' ms' : abs(datum.value) + ' µs')"
    axis = alt.Axis(
        labelExpr=f"{sign} + {size}",
        gridOpacity=alt.condition("datum.value == 0", alt.value(0.7), alt.value(0.12)),
        tickCount=6,
    )
    scale = alt.Scale(zero=True, nice=True)
    if most / least >= WIDE:
        decades = [10.0**power for power in range(-1, 8) if least / 10 < 10.0**power < 10 * largest]
        axis.values = [*(-each for each in reversed(decades)), 0.0, *decades]
        scale = alt.Scale(type="symlog", constant=least, zero=True, nice=False)
    return alt.X("us:Q", title=title, scale=scale, axis=axis)


def _spread(rows: Rows) -> tuple[float, float]:
    """Return the smallest and the largest difference of the scenario where they are most unlike."""
    by_scenario: dict[str, list[float]] = {}
    for row in rows:
        if row["us"]:
            by_scenario.setdefault(row["scenario"], []).append(abs(row["us"]))
    ends = [(min(sizes), max(sizes)) for sizes in by_scenario.values()]
    return max(ends, key=lambda each: each[1] / each[0], default=(1.0, 1.0))


def _first_scenarios(rows: Rows) -> tuple[Rows, str]:
    """Return the rows of the first scenarios, and a sentence if there are more."""
    scenarios = seen(rows, "scenario")
    kept = scenarios[:PANELS]
    cut = f" The first {PANELS} of {len(scenarios)} combinations of other levels are drawn."
    return [row for row in rows if row["scenario"] in kept], cut if scenarios != kept else ""


def _panels(
    chart: alt.Chart | alt.LayerChart, scenarios: list[str], columns: int = MOST_COLUMNS
) -> alt.Chart | alt.LayerChart | alt.FacetChart:
    """Return a chart with a panel for each scenario; of one that needs no name, the chart alone."""
    if columns > 1:
        columns = even(len(scenarios), columns)
        width = WIDTH[columns]
        chart = chart.properties(width=width, height=270 if len(scenarios) == 1 else 200)
    if scenarios == [ALL]:
        return chart
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight=600)
    facet = alt.Facet("scenario:N", header=header, sort=scenarios)
    panels: alt.FacetChart = chart.facet(facet=facet, columns=columns).resolve_scale(
        x="independent"
    )
    return panels


def _without(factor: str, group: Group) -> str:
    return in_words({f: level for f, level in group.factors.items() if f != factor}) or ALL
