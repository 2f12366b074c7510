"""The folder of templates, and the style sheet of all pages and drawings."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"


def style_sheet() -> str:
    """Return the style sheet."""
    return (TEMPLATES / "report.css").read_text(encoding="utf-8")
