"""Summary lines of documentation begin with a verb or a noun, never with a question or a riddle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUST_FOLDERS = ("crates", "fuzz")
PYTHON_FOLDERS = ("src", "benches", "tools")
# A line that begins with one of these names neither an action nor a thing.
REFUSED = {"What", "Whether", "Who", "Whose", "How", "Of", "Where", "Which", "Why", "If", "By"}
# Fewer summaries than this mean that the reader below no longer finds them.
FEWEST = 1000
# A line of `///` or `//!`; one of four slashes is an ordinary comment.
RUST_DOC = re.compile(r"\s*//(?:/(?!/)|!)\s?(.*)")


def rust_summaries(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of the first line of each doc block."""
    within = False
    for number, line in enumerate(source.splitlines(), 1):
        doc = RUST_DOC.match(line)
        if doc and not within:
            yield number, doc[1]
        within = doc is not None


def begins_badly(summary: str) -> bool:
    """Return True if a summary begins with one of the refused words."""
    first = re.match(r"\w+", summary)
    return first is not None and first[0].capitalize() in REFUSED


def test_summaries_are_the_first_lines_of_doc_blocks() -> None:
    lines = ["//! Of this.", "//! More.", "", "  /// How far.", "  #[x]", "  /// Why.", "//// No."]
    assert list(rust_summaries("\n".join(lines))) == [(1, "Of this."), (4, "How far."), (6, "Why.")]
    assert begins_badly("What, then?")
    assert begins_badly("if it is so")
    assert not begins_badly("Whatever it takes.")
    assert not begins_badly("`what`: the name of the operation.")


def test_summaries_of_rust_code_begin_with_a_verb_or_a_noun() -> None:
    files = sorted(file for folder in RUST_FOLDERS for file in (ROOT / folder).rglob("*.rs"))
    found = [
        (f"{file.relative_to(ROOT)}:{number}", summary)
        for file in files
        if "target" not in file.relative_to(ROOT).parts
        for number, summary in rust_summaries(file.read_text())
    ]
    assert len(found) >= FEWEST
    assert [place for place in found if begins_badly(place[1])] == []


def python_summaries(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the first line of docstrings and of strings below constants."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, value.value.strip().partition("\n")[0]


def test_docstrings_of_python_code_begin_with_a_verb_or_a_noun() -> None:
    found = [
        (f"{file.relative_to(ROOT)}:{number}", summary)
        for folder in PYTHON_FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        for number, summary in python_summaries(file.read_text())
    ]
    assert len(found) >= FEWEST
    assert [place for place in found if begins_badly(place[1])] == []
