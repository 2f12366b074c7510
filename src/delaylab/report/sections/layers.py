"""Table of delays by layer, beside those of the paper that the study repeats."""

from __future__ import annotations

from delaylab.analysis.packets.rtt import LINK
from delaylab.charts.layer_table import layers
from delaylab.papers import calls
from delaylab.report.sections.section import Html, Report


def html(report: Report) -> Html:
    """Return the table of layers.

    `published` is True if it has a number of the paper's, `emulated_link` if it has a column of an
    emulated link.
    """
    paper = report.repeated.paper
    parts = calls.layer_table(paper, report.probed) if paper else layers(report.probed)
    cells = [cell for part in parts for _, row in part.rows for cell in row]
    return Html(
        {
            "parts": parts,
            "layer_note": paper.layer_note if paper else "",
            "published": any(cell.paper or cell.paper_p99 for cell in cells),
            "emulated_link": any(LINK in part.terms for part in parts),
        }
    )
