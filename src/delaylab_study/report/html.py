"""HTML report in a single file that opens anywhere, with every chart as SVG and PNG beside it."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

from delaylab.api.errors import DelaylabError
from delaylab.api.files import check_own_folder, own_folder, write_new
from delaylab.api.progress import Progress, silent
from delaylab_study.analysis.analyse import Analysed, analysed
from delaylab_study.analysis.usable import usable
from delaylab_study.charts.drawn_beside import SecondProcess
from delaylab_study.charts.vega import Chart, on_white
from delaylab_study.dataset.store import Study
from delaylab_study.papers.findings import Later
from delaylab_study.papers.paper import Paper
from delaylab_study.report.sections.registry import PAGE
from delaylab_study.report.sections.section import Report
from delaylab_study.report.templating import page
from delaylab_study.report.value import Drawing

CHARTS = "charts"
METHOD = "How each number is made: docs/method.md of delaylab. "
INTERVALS = (
    "Intervals are 95 %, between ranks (Woodruff 1952), by as many packets as are independent (the "
    "effective sample size). Repeats of the same levels are pooled, and their intervals are at "
    "least Student's of the trials. A quantile is given if at least 5 effective samples are "
    "expected on either side of it. Charts and claims use at most 20 000 packets of a group. "
)
FILES = "The raw data are in `trials/` in the same folder, every chart as SVG and PNG in `charts/`."


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
    # They start while the packets are analysed.
    with SecondProcess() as charts, SecondProcess() as pictures:
        found = analysed(given, progress)
        directory = found.study.directory
        check_own_folder(directory / CHARTS)
        progress("drawing the report", 1.0)
        beside = Beside(charts, pictures)
        with usable(str(directory)):
            text = render(Report(found.study, found.groups, paper, later), beside)
        target = directory / "report.html"
        try:
            beside.write(directory / CHARTS)
            write_new(target, text.encode())
        except OSError as error:
            raise DelaylabError(f"cannot be written: {error.strerror}", str(target)) from error
    return target


class Beside:
    """Drawings of a report as SVG and as PNG, which one process each makes beside this one."""

    def __init__(self, charts: SecondProcess, pictures: SecondProcess) -> None:
        self._charts, self._pictures = charts, pictures
        self._drawings: list[tuple[Drawing, Future[bytes]]] = []

    def draw(self, drawing: Drawing) -> None:
        """Begin to draw."""
        if isinstance(drawing, Chart):
            drawing.drawn = self._charts.svg(drawing.spec)
        png = self._pictures.png(lambda: on_white(drawing.svg))
        self._drawings.append((drawing, png))

    def write(self, place: Path) -> None:
        """Write all drawings; raise OSError if that fails."""
        own_folder(place)
        for drawing, png in self._drawings:
            write_new(place / f"{drawing.name}.svg", drawing.svg.encode())
            write_new(place / f"{drawing.name}.png", png.result())


def render(report: Report, beside: Beside | None = None) -> str:
    """Return the page as HTML that refers to nothing outside itself.

    With `beside`, its drawings are made there while this process prepares the next ones.
    """
    sections = []
    for make in PAGE:
        section = make(report)
        sections.append(section)
        if beside is not None:
            for drawing in section.drawings:
                beside.draw(drawing)
    footer = f"{METHOD}{INTERVALS if report.probed else ''}{FILES}"
    return page(report.study.record.title, sections, footer)
