"""The part of a page that a command writes, between two marks."""

from __future__ import annotations

from pathlib import Path


def write(page: Path, begin: str, end: str, made: str) -> None:
    """Replace what stands between two marks of a page; ValueError if it lacks one."""
    text = page.read_text()
    start = text.index(begin) + len(begin)
    page.write_text(text[:start] + made + text[text.index(end, start) :])
