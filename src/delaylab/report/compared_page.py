"""HTML page of a comparison, in the style of the report, in a single file."""

from __future__ import annotations

from pathlib import Path

from delaylab.analysis.compared.datasets import Compared
from delaylab.charts import words
from delaylab.io.files import write_text
from delaylab.report import templating
from delaylab.report.compared import NOTE, ONCE, headline, named, row


def write_page(found: Compared, target: Path) -> None:
    """Write the page of a comparison; raise `DelaylabError` if the file cannot be written."""
    write_text(target, render(found))


def render(found: Compared) -> str:
    """Return the page as HTML that refers to nothing outside itself."""
    environment = templating.environment()
    environment.filters["system"] = words.system
    return environment.get_template("compared.html.j2").render(
        found=found,
        sides=named(found),
        headline=headline(found),
        rows=[row(line) for line in found.lines],
        note=NOTE,
        once=ONCE,
        style=(templating.TEMPLATES / "report.css").read_text(encoding="utf-8"),
    )
