"""Chart of the times after events along a factor: a point for each trial, a line of medians."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from delaylab_study.analysis.compared.numbers import numbers_of
from delaylab_study.analysis.convergence.times import times_of
from delaylab_study.analysis.group import Group, in_words
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.levels import DASHES
from delaylab_study.charts.numeric import along_axis
from delaylab_study.charts.vega import Chart, inline, render, seen, setup_colours

DRAWN = ("detected", "converged", "outage")
EVENTS = 8
"""The most events and combinations of other levels that are drawn, each in a panel."""
WIDTH, HEIGHT = 325, 190
FORMS = ("circle", "square", "triangle-up")
APART = 9
"""The px between points of one trial, whose times are often the same but for some ms."""


def times_along(factors: Mapping[str, Sequence[str]], groups: Sequence[Group]) -> list[Chart]:
    """Return a chart for each factor with several levels whose trials have events."""
    charts = (_along(factor, levels, groups) for factor, levels in factors.items() if levels[1:])
    return [chart for chart in charts if chart is not None]


def _along(factor: str, levels: Sequence[str], groups: Sequence[Group]) -> Chart | None:
    points = [*_points(factor, groups)]
    if len({point["level"] for point in points}) < 2:
        return None
    numbers = numbers_of([level for level in levels if level in seen(points, "level")], fewest=2)
    if numbers is not None:
        points = [{**each, "at": numbers.values[str(each["level"])]} for each in points]
        x = along_axis(factor, numbers)
    else:
        x = alt.X("level:N", title=factor, sort=[*levels], axis=alt.Axis(labelAngle=0))
    panels = seen(points, "panel")[:EVENTS]
    names = seen(points, "time")
    colours = [*setup_colours(names).values()]
    base = alt.Chart().encode(
        x=x,
        y=alt.Y("s:Q", title="time after the event (s)", scale=alt.Scale(zero=True)),
        color=alt.Color("time:N", title=None, scale=alt.Scale(domain=names, range=colours)),
    )
    forms = alt.Scale(domain=names, range=[FORMS[at % len(FORMS)] for at in range(len(names))])
    shape = alt.Shape("time:N", title=None, scale=forms)
    layers = []
    for at, name in enumerate(names):
        series = base.transform_filter(alt.FieldEqualPredicate(field="time", equal=name))
        # A dash of the mark and not of the data: the legend has the forms of points.
        line = series.mark_line(strokeWidth=2, strokeDash=DASHES[at % len(DASHES)])
        points_apart = APART * (at - (len(names) - 1) / 2)
        dots = series.mark_point(size=40, opacity=0.9, xOffset=points_apart)
        layers += [line.encode(y="median(s):Q"), dots.encode(shape=shape)]
    shown = [each for each in points if each["panel"] in panels]
    chart = alt.LayerChart(layer=layers, data=inline(shown))
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight=600, labelLimit=WIDTH)
    panel = alt.Facet("panel:N", header=header, sort=panels)
    return render(
        f"time-along-{factor}",
        f"Times after the events, along {factor}",
        "A point is a trial, a line leads through the medians; points of one trial stand next to "
        "each other, and each event has an axis of its own. Detected: the first change of an "
        "adjacency. Converged: every table was right. Outage: the longest black hole or loop, by "
        "the routers' tables.",
        chart.properties(width=WIDTH, height=HEIGHT)
        .facet(facet=panel, columns=2)
        .resolve_scale(y="independent"),
    )


def _points(factor: str, groups: Sequence[Group]) -> Iterator[dict[str, float | str]]:
    for group in groups:
        level = group.factors.get(factor)
        if level is None or not group.convergence:
            continue
        others = in_words({name: each for name, each in group.factors.items() if name != factor})
        for number, event in enumerate(group.convergence[0].events):
            panel = ", ".join(part for part in (event.record.words, others) if part)
            for name in DRAWN:
                for value in times_of(group.convergence, number, name).values():
                    yield {"level": level, "panel": panel, "time": name, "s": value}
