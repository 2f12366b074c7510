"""HTML report in a single file that opens anywhere, with every chart as SVG and PNG beside it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from delaylab.analysis.analyse import Analysed, analysed
from delaylab.analysis.usable import usable
from delaylab.charts import words
from delaylab.charts.vega import to_png
from delaylab.dataset.store import Study
from delaylab.errors import DelaylabError
from delaylab.io.files import check_own_folder, own_folder, write_new
from delaylab.papers.findings import Later
from delaylab.papers.paper import Paper
from delaylab.progress import Progress, silent
from delaylab.report import templating
from delaylab.report.forest import forest
from delaylab.report.sections.registry import PAGE
from delaylab.report.sections.section import Drawing, Report
from delaylab.report.style import style_sheet

CHARTS = "charts"


def write_report(
    given: Path | Study | Analysed,
    paper: Paper | None = None,
    progress: Progress = silent,
    later: Later = (),
) -> Path:
    """Write `report.html` and `charts/` into a dataset's directory; return the page's path.

    `paper` is the paper to report instead of the one that the study names, `later` are claims that
    were chosen after the data.

    Raise `BadInput` for a damaged dataset, `DelaylabError` if the files cannot be written.
    """
    found = analysed(given, progress)
    directory = found.study.directory
    check_own_folder(directory / CHARTS)
    progress("drawing the report", 1.0)
    with usable(str(directory)):
        text, drawings = render(Report(found.study, found.groups, paper, later))
    target = directory / "report.html"
    try:
        _write_charts(directory / CHARTS, drawings)
        write_new(target, text.encode())
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(target)) from error
    return target


def render(report: Report) -> tuple[str, list[Drawing]]:
    """Return the page as HTML that refers to nothing outside itself, and its drawings."""
    environment = templating.environment()
    environment.filters |= {
        "delay": words.delay,
        "quantile": words.quantile,
        "interval": words.interval,
        "effect": words.effect,
        "with_interval": words.with_interval,
        "published": words.published,
        "stand": words.stand,
        "forest": forest,
        "cost": words.cost,
        "doubts": words.doubts,
        "share": words.share,
        "system": words.system,
    }
    environment.globals |= {
        "record": report.study.record,
        "machines": [*report.study.record.machines.values()],
        "groups": report.groups,
        "probed": report.probed,
        "paper": report.repeated.paper,
    }
    # A section ends with the line that it is written with: the next one follows as it is.
    whole = environment.overlay(keep_trailing_newline=True)
    text = ""
    drawings: list[Drawing] = []
    for section in PAGE:
        found = section.html(report)
        name = section.__name__.rpartition(".")[2]
        text += whole.get_template(f"sections/{name}.html.j2").render(found.values)
        drawings += found.drawings
    page = environment.get_template("report.html.j2")
    return page.render(sections=Markup(text), style=style_sheet()), drawings


def _write_charts(place: Path, drawings: list[Drawing]) -> None:
    own_folder(place)
    for drawing in drawings:
        write_new(place / f"{drawing.name}.svg", drawing.svg.encode())
        write_new(place / f"{drawing.name}.png", to_png(drawing.svg))
