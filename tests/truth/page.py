"""The page of docs that has the results: its parts, each between two marks."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

PAGE = Path("docs/truth.md")
WIDTH = 100


def write_part(name: str, text: str) -> None:
    """Replace a part of the page."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = PAGE.read_text().partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def wrapped(text: str) -> str:
    """Return a paragraph in lines of the page's width."""
    return fill(text, WIDTH, break_on_hyphens=False)


def share(part: float, of: float) -> str:
    """Return a part as a percentage; a dash of nothing."""
    return f"{part / of:.1%}" if of else "–"
