"""HTML page of a comparison, in the style of the report, in a single file."""

from __future__ import annotations

from pathlib import Path

from delaylab.api.files import write_text
from delaylab_study.analysis.compared.many import Comparison
from delaylab_study.report.compared_sections import sections, title
from delaylab_study.report.templating import page


def write_page(comparison: Comparison, target: Path) -> None:
    """Write the page of a comparison; raise `DelaylabError` if the file cannot be written."""
    write_text(target, render(comparison))


def render(comparison: Comparison) -> str:
    """Return the page as HTML that refers to nothing outside itself."""
    names = ", ".join(side.name for side in comparison.sides)
    return page(f"{title(comparison)}: {names}", sections(comparison))
