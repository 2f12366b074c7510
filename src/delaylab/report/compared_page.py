"""HTML page of a comparison, in the style of the report, in a single file."""

from __future__ import annotations

from pathlib import Path

from delaylab.analysis.compared.many import Comparison
from delaylab.analysis.compared.measured import USER
from delaylab.analysis.group import in_words
from delaylab.charts import words
from delaylab.charts.levels import Curve, Dot, differences, rtt_curves
from delaylab.charts.numeric import ALL
from delaylab.charts.vega import Chart
from delaylab.io.files import write_text
from delaylab.report import templating
from delaylab.report.compared import ONCE, headline, named, note, row
from delaylab.report.style import style_sheet


def write_page(found: Comparison, target: Path) -> None:
    """Write the page of a comparison; raise `DelaylabError` if the file cannot be written."""
    write_text(target, render(found))


def render(found: Comparison) -> str:
    """Return the page as HTML that refers to nothing outside itself."""
    environment = templating.environment()
    environment.filters["system"] = words.system
    environment.filters |= {"headline": headline, "named": named, "note": note, "row": row}
    first = found.sides[0]
    return environment.get_template("compared.html.j2").render(
        found=found,
        record=first.study.record,
        charts=drawings(found),
        once=ONCE,
        style=style_sheet(),
    )


def drawings(found: Comparison) -> list[Chart]:
    """Return the user RTTs of all sides on one axis, and the differences from the first."""
    title = found.factor or "dataset"
    curves = [
        Curve(in_words(side.levels(group)) or ALL, side.short, group)
        for side in found.sides
        for group in side.groups
    ]
    dots = [
        Dot(in_words(line.pair.levels) or ALL, each.after.short, line.effect)
        for each in found.compared
        for line in each.lines
        if line.part.name == USER and line.statistic == "median"
    ]
    charts = (
        rtt_curves(curves, title, "compared"),
        differences(dots, title, found.sides[0].short, "differences", level="99 %"),
    )
    return [chart for chart in charts if chart is not None]
