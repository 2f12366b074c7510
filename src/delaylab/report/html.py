"""HTML report in a single file that opens anywhere, with every chart as SVG and PNG beside it."""

from __future__ import annotations

from pathlib import Path

from delaylab.analysis.analyse import Analysed, analysed
from delaylab.analysis.usable import usable
from delaylab.charts import words
from delaylab.charts.vega import to_png
from delaylab.dataset.store import Study
from delaylab.errors import DelaylabError
from delaylab.io.files import check_own_folder, own_folder, write_new
from delaylab.papers.paper import Paper
from delaylab.progress import Progress, silent
from delaylab.report import templating
from delaylab.report.forest import NOTE as DRAWN
from delaylab.report.forest import forest
from delaylab.report.links import NOTE
from delaylab.report.outages import NOTE as OUTAGES
from delaylab.report.page import Page, gather
from delaylab.report.scaling import NOTE as SCALING
from delaylab.report.slowest import NOTE as SLOW
from delaylab.report.work import MESSAGES
from delaylab.report.work import NOTE as WORK

CHARTS = "charts"


def write_report(
    given: Path | Study | Analysed, paper: Paper | None = None, progress: Progress = silent
) -> Path:
    """Write `report.html` and `charts/` into a dataset's directory; return the page's path.

    `paper` is the paper to report instead of the one that the study names.

    Raise `BadInput` for a damaged dataset, `DelaylabError` if the files cannot be written.
    """
    found = analysed(given, progress)
    directory = found.study.directory
    check_own_folder(directory / CHARTS)
    progress("drawing the report", 1.0)
    with usable(str(directory)):
        page = gather(found.study, found.groups, paper)
        text = render(page)
    target = directory / "report.html"
    try:
        _write_charts(directory / CHARTS, page)
        write_new(target, text.encode())
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(target)) from error
    return target


def render(page: Page) -> str:
    """Return the page as HTML that refers to nothing outside itself."""
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
    style = (templating.TEMPLATES / "report.css").read_text(encoding="utf-8")
    template = environment.get_template("report.html.j2")
    notes = {
        "drawn": DRAWN,
        "link": NOTE,
        "outage": OUTAGES,
        "slow": SLOW,
        "work": WORK,
        "message": MESSAGES,
        "scaling": SCALING,
    }
    return template.render(page=page, style=style, **{f"{k}_note": v for k, v in notes.items()})


def _write_charts(place: Path, page: Page) -> None:
    own_folder(place)
    charts = [*page.charts, *page.work_charts, *page.scaling_charts]
    charts += [page.over_time] if page.over_time else []
    for name, svg in [(c.name, c.svg) for c in charts] + [(w.name, w.svg) for w in page.ways]:
        write_new(place / f"{name}.svg", svg.encode())
        write_new(place / f"{name}.png", to_png(svg))
