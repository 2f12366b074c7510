"""Summary lines of documentation begin with a verb or a noun, never with a question or a riddle."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

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


DETERMINERS = {"A", "An", "The", "One", "Two", "Both", "All", "Another", "Something"}
UNCOUNTED = {
    *("arithmetic", "delay", "detection", "fairness", "fidelity", "input", "lateness"),
    *("loss", "memory", "output", "progress", "reordering", "software", "steering", "work"),
}
"""Nouns of no plural, which stand without an article where all of a thing is meant."""
AFTER_A_NOUN = (
    "as|at|between|by|captured|caused|from|in|of|on|over|that|through|to|under|used|wh\\w+|with"
)
HEAD = re.compile(rf"[\w/'-]+(?: (?!(?:{AFTER_A_NOUN})\b)[\w/'-]+)*")
"""The words of a noun phrase up to its noun."""


def class_summaries(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the first line of the docstrings of classes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and (text := ast.get_docstring(node)):
            yield node.lineno, text.partition("\n")[0]


def verbs_of(source: str) -> set[str]:
    """Return the words with which docstrings of functions begin."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return {(ast.get_docstring(node) or " ").split(" ")[0] for node in nodes}


def is_thing(summary: str, verbs: set[str]) -> bool:
    """Return True for a noun with its article; plural, uncounted nouns and names need none."""
    head = HEAD.match(summary)
    words = head[0].split() if head else []
    if not words or words[0] in DETERMINERS:
        return bool(words)
    if words[0] in verbs - {word.capitalize() for word in UNCOUNTED}:
        return False
    is_name = words[-1].isupper() or words[0].endswith("'s")
    is_plural = words[-1].endswith("s") and not words[-1].endswith("ss")
    return is_name or is_plural or words[-1].lower() in UNCOUNTED


@pytest.mark.parametrize(
    ("summary", "is_right"),
    [
        ("A link of the lab.", True),
        ("Packets of a group.", True),
        ("Competing work: what it achieved.", True),
        ("Kendall's tau-b of a level.", True),
        ("OSPF: version 2 for IPv4.", True),
        ("Link of the lab.", False),
        ("Return names of links.", False),
        ("Follows a comparison.", False),
        ("Raised when nothing fits.", False),
    ],
)
def test_a_thing_is_told_from_a_deed(summary: str, is_right: bool) -> None:
    assert is_thing(summary, {"Return", "Work"}) == is_right


def test_docstrings_of_classes_name_a_thing() -> None:
    """Those of messages are left out: the agent's schema says what a request does."""
    files = {
        str(file.relative_to(ROOT)): file.read_text()
        for folder in PYTHON_FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        if "agent/wire" not in str(file)
    }
    verbs = {verb for text in files.values() for verb in verbs_of(text)}
    found = [
        (f"{file}:{number}", summary)
        for file, text in files.items()
        for number, summary in class_summaries(text)
    ]
    assert len(found) > 800
    assert [place for place in found if not is_thing(place[1], verbs)] == []


SHARED = {
    *("Block", "Column", "Line", "Part", "Picture", "Table"),  # parts of pages, and of data
    *("Direction", "Link", "Moment", "Neighbours", "Node", "Port", "Program", "Queue"),
    *("Addresses", "End", "Figure", "Flow", "Generator", "Links", "Rate", "Readable", "Record"),
    "Source",
}
"""Names of several public classes: one thing in two forms, or words of rooms far apart."""


def shared_names(sources: Mapping[str, str]) -> set[str]:
    """Return the names of public classes that several modules define."""
    defined = Counter(
        node.name
        for text in sources.values()
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name for name, times in defined.items() if times > 1}


def test_one_name_is_of_one_class() -> None:
    """Papers have words of their own, and a request may be that of `agent/wire/` with a table."""
    assert shared_names({"a": "class Part: ...", "b": "class Part: ...\nclass _P: ..."}) == {"Part"}
    assert shared_names({"a": "class _P: ...", "b": "class _P: ..."}) == set()
    files = {
        str(path): path.read_text()
        for path in (ROOT / "src").rglob("*.py")
        if not re.search(r"_papers/|agent/\w+_requests", str(path))
    }
    assert len(files) > 500
    assert shared_names(files) == SHARED
