"""Files and tests that prose names are there: in pages, docstrings and comments."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "crates", "tests", "benches", "tools", "examples", "docs")
FILES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*") if path.is_file()]
PROSE = [
    path
    for path in (*ROOT.glob("*.md"), *FILES)
    if path.suffix in {".md", ".py", ".rs"} and path != Path(__file__)
]
NAMED = re.compile(r"`([\w./-]*\w\.(?:py|rs|sh))(?:::(\w+)[^`]*)?`")
PLACEHOLDER = "NAME/"


def by_end() -> dict[str, list[Path]]:
    """Return the files by each end of their path: `a/b.py` by itself and by `b.py`."""
    found = defaultdict(list)
    for path in FILES:
        parts = path.relative_to(ROOT).parts
        for first in range(len(parts)):
            found["/".join(parts[first:])].append(path)
    return found


ENDS = by_end()


def missing(text: str) -> list[str]:
    """Return what a text names in back quotes: files that are not there, and tests in files."""
    found = []
    for name, test in NAMED.findall(text):
        there = ENDS.get(name, [])
        if not there and PLACEHOLDER not in name:
            found.append(name)
        elif test and not any(f"def {test}" in path.read_text() for path in there):
            found.append(f"{name}::{test}")
    return found


def test_what_prose_names_is_there() -> None:
    found = {str(page.relative_to(ROOT)): missing(page.read_text()) for page in PROSE}
    assert len(found) > 1000
    assert {page: names for page, names in found.items() if names} == {}


def test_a_name_of_nothing_is_found() -> None:
    here = "test_named_files.py"
    assert missing(f"`{here}`, `tests/{here}::test_a_name_of_nothing_is_found`") == []
    assert missing("`crates/replay/src/nowhere.rs`") == ["crates/replay/src/nowhere.rs"]
    assert missing(f"`{here}::test_nothing`") == [f"{here}::test_nothing"]
