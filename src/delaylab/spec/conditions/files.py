"""Reading of files that conditions name into the document, which then needs none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TypeGuard

from delaylab.errors import BadInput
from delaylab.io.files import check_file
from delaylab.spec.conditions.model import MOST_VALUES
from delaylab.spec.conditions.trace import (
    MOST_BYTES,
    MOST_POINTS,
    is_whole,
    numbered_lines,
    read_trace,
)
from delaylab.spec.programs import MOST_TEXT
from delaylab.spec.source import Document, Location
from delaylab.units import Duration

NETEM_SCALE = 8192
"""The number that stands for one spread in netem's distribution tables (`*.dist`)."""
Reader = Callable[[Path, dict[str, object]], object]
"""A function that returns the content of a file, given the other fields beside its name."""
ADDRESSES = "addresses"
"""A field whose keys are names of nodes, so they are never taken for readers."""
NODE_FILES = "files"
"""The field of a node's files, by path; each may take its text from a file."""
TRUST = "trust"
"""The field of a probe with certificates, which may be taken from a file."""


def with_files(document: Document) -> Document:
    """Return the document with the content of every trace, pattern or table file it names."""
    return replace(document, data=_read_all(document.data, (), document))


def _read_all(data: object, at: Location, document: Document) -> object:
    if isinstance(data, list):
        return [_read_all(item, (*at, index), document) for index, item in enumerate(data)]
    if not isinstance(data, dict):
        return data
    found = {}
    for key, value in data.items():
        # In a study's level a path such as `links.wan.trace` ends in its field.
        reader = READERS.get(key.rsplit(".", 1)[-1])
        if key == ADDRESSES:
            found[key] = value
        elif key.rsplit(".", 1)[-1] == NODE_FILES:
            found[key] = _texts(value, (*at, key), document)
        elif f"{NODE_FILES}./" in key:
            found[key] = _text(value, (*at, key), document)
        elif key.rsplit(".", 1)[-1] == TRUST:
            found[key] = _trusted(value, (*at, key), document)
        elif reader and _names_a_file(value):
            found[key] = _read(reader, value, (*at, key), document)
        else:
            found[key] = _read_all(value, (*at, key), document)
    return found


def _texts(files: object, at: Location, document: Document) -> object:
    """Return a node's files with the text of those that are taken from a file."""
    if not isinstance(files, dict):
        return files
    return {path: _text(file, (*at, path), document) for path, file in files.items()}


def _trusted(value: object, at: Location, document: Document) -> object:
    """Return the certificates that a probe trusts, read from the file that it names, if any."""
    found = _text(value, at, document) if isinstance(value, dict) and len(value) == 1 else value
    return found["content"] if isinstance(found, dict) and "content" in found else found


def _text(file: object, at: Location, document: Document) -> object:
    if not isinstance(file, dict) or not isinstance(file.get("from"), str):
        return file
    others = {name: value for name, value in file.items() if name != "from"}
    if "content" in others:
        raise document.refuse("a file has either `content` or `from`", at)
    path = document.folder / str(file["from"])
    try:
        check_file(path, MOST_TEXT)
        return {**others, "content": path.read_text(encoding="utf-8")}
    except BadInput as error:
        raise document.refuse(f"{error.what}: {str(path)!r}", at, error.fix) from None
    except UnicodeDecodeError:
        raise document.refuse(f"the file is not UTF-8 text: {str(path)!r}", at) from None


def _names_a_file(value: object) -> TypeGuard[str | dict[str, object]]:
    if isinstance(value, dict):
        return isinstance(value.get("file"), str)
    return isinstance(value, str) and value != "none"


def _read(
    reader: Reader, value: str | dict[str, object], at: Location, document: Document
) -> object:
    given: dict[str, object] = {"file": value} if isinstance(value, str) else dict(value)
    path = document.folder / str(given.pop("file"))
    try:
        check_file(path, MOST_BYTES)
    except BadInput as error:
        raise document.refuse(f"{error.what}: {str(path)!r}", at, error.fix) from None
    try:
        return reader(path, given)
    except BadInput:
        raise
    except ValueError as error:
        raise document.refuse(str(error), at) from None


def _trace(path: Path, given: dict[str, object]) -> dict[str, object]:
    repeat = given.pop("repeat", None)
    _nothing_else(given, "trace")
    return read_trace(path, None if repeat in (None, "none") else Duration.parse(str(repeat)))


def _pattern(path: Path, given: dict[str, object]) -> dict[str, object]:
    """Read runs of kept and lost packets from a file.

    It holds `0` (kept) and `1` (lost), or the runs themselves as CSV with the header `kept,lost`.
    """
    _nothing_else(given, "pattern")
    lines = _lines(path, "pattern")
    if lines[0][1].replace(" ", "") == "kept,lost":
        runs = [count for number, line in lines[1:] for count in _run(line, path, number)]
    else:
        runs = _runs(lines, path)
    if not any(runs):
        raise BadInput("the pattern has no packets", str(path))
    return {"runs": runs}


def _run(line: str, path: Path, number: int) -> list[int]:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != 2 or not all(map(is_whole, cells)):
        raise BadInput(f"expected kept,lost such as 95,5; got {line[:40]!r}", f"{path}:{number}")
    return [int(cell) for cell in cells]


def _runs(lines: list[tuple[int, str]], path: Path) -> list[int]:
    fates: list[str] = []
    runs: list[tuple[str, int]] = []
    for number, line in lines:
        fate = "".join(line.split())
        if not set(fate) <= {"0", "1"}:
            raise BadInput(
                f"expected 0 (kept) and 1 (lost), or the header kept,lost; got {line[:40]!r}",
                f"{path}:{number}",
            )
        fates.append(fate)
    # Runs begin with kept packets and end with lost ones, so that they can be repeated.
    for fate, same in groupby("".join(fates)):
        runs.append((fate, sum(1 for _ in same)))
        if len(runs) > MOST_POINTS:
            raise BadInput(f"the pattern has more than {MOST_POINTS} runs", str(path))
    counts = [count for _, count in runs]
    before = [0] if runs[0][0] == "1" else []
    after = [0] if runs[-1][0] == "0" else []
    return [*before, *counts, *after]


def _table(path: Path, given: dict[str, object]) -> list[float]:
    """Read values in units of the spread; a file `*.dist` has netem's units."""
    _nothing_else(given, "table")
    scale = NETEM_SCALE if path.suffix == ".dist" else 1
    values: list[float] = []
    for number, line in _lines(path, "table"):
        for word in line.replace(",", " ").split():
            try:
                value = float(word)
            except ValueError:
                value = float("nan")
            if not abs(value) < 1e9:
                raise BadInput(f"expected numbers, got {word[:40]!r}", f"{path}:{number}")
            values.append(value / scale)
        if len(values) > MOST_VALUES:
            raise BadInput(f"the table has more than {MOST_VALUES} values", str(path))
    return values


def _lines(path: Path, what: str) -> list[tuple[int, str]]:
    lines = numbered_lines(path, what)
    if not lines:
        raise BadInput("the file is empty", str(path))
    return lines


def _nothing_else(given: dict[str, object], what: str) -> None:
    if given:
        raise ValueError(f"unknown field {next(iter(given))!r} of a {what} from a file")


READERS: dict[str, Reader] = {
    "trace": _trace,
    "pattern": _pattern,
    "table": _table,
}
