"""Files that conditions name, read into the document: afterwards it needs none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from delaylab.errors import BadInput
from delaylab.spec.source import Document, Location
from delaylab.spec.trace import read_text, read_trace
from delaylab.units import Duration

NETEM_SCALE = 8192
"""netem's tables of distributions (`*.dist`) count a spread as this many."""
ADDRESSES = "addresses"
"""Its keys are nodes, whatever they are called."""


def with_files(document: Document) -> Document:
    """The document with the content of each file that it names as a trace, pattern or table."""
    return replace(document, data=_read_all(document.data, (), document))


def _read_all(data: Any, at: Location, document: Document) -> Any:
    if isinstance(data, list):
        return [_read_all(item, (*at, index), document) for index, item in enumerate(data)]
    if not isinstance(data, dict):
        return data
    found = {}
    for key, value in data.items():
        # The last step of a path such as `links.wan.trace` in a study's level is its field.
        reader = READERS.get(key.rsplit(".", 1)[-1])
        if key == ADDRESSES:
            found[key] = value
        elif reader and _names_a_file(value):
            found[key] = _read(reader, value, (*at, key), document)
        else:
            found[key] = _read_all(value, (*at, key), document)
    return found


def _names_a_file(value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(value.get("file"), str)
    return isinstance(value, str) and value != "none"


def _read(
    reader: Callable[[Path, dict[str, Any]], Any], value: Any, at: Location, document: Document
) -> Any:
    given = {"file": value} if isinstance(value, str) else dict(value)
    path = document.folder / given.pop("file")
    if not path.is_file():
        raise document.refuse(f"no such file: {str(path)!r}", at)
    try:
        return reader(path, given)
    except BadInput:
        raise
    except ValueError as error:
        raise document.refuse(str(error), at) from None


def _trace(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    repeat = given.pop("repeat", None)
    _nothing_else(given, "trace")
    return read_trace(path, None if repeat in (None, "none") else Duration.parse(repeat))


def _pattern(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Runs of kept and lost packets from a file of `0` (kept) and `1` (lost), or of the runs.

    The runs are CSV with the header `kept,lost`.
    """
    _nothing_else(given, "pattern")
    lines = _lines(path)
    if lines[0][1].replace(" ", "") == "kept,lost":
        runs = [count for number, line in lines[1:] for count in _run(line, path, number)]
    else:
        runs = _runs(lines, path)
    if not any(runs):
        raise BadInput("the pattern has no packets", str(path))
    return {"runs": runs}


def _run(line: str, path: Path, number: int) -> list[int]:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != 2 or not all(cell.isdecimal() and cell.isascii() for cell in cells):
        raise BadInput(f"expected kept,lost such as 95,5; got {line[:40]!r}", f"{path}:{number}")
    return [int(cell) for cell in cells]


def _runs(lines: list[tuple[int, str]], path: Path) -> list[int]:
    fates: list[str] = []
    for number, line in lines:
        fate = "".join(line.split())
        if not set(fate) <= {"0", "1"}:
            raise BadInput(
                f"expected 0 (kept) and 1 (lost), or the header kept,lost; got {line[:40]!r}",
                f"{path}:{number}",
            )
        fates.append(fate)
    # Runs begin with kept packets and end with lost ones, so that they can be repeated.
    runs = [(fate, len(list(same))) for fate, same in groupby("".join(fates))]
    counts = [count for _, count in runs]
    before = [0] if runs[0][0] == "1" else []
    after = [0] if runs[-1][0] == "0" else []
    return [*before, *counts, *after]


def _table(path: Path, given: dict[str, Any]) -> list[float]:
    """Values in spreads; those of a file `*.dist` are netem's."""
    _nothing_else(given, "table")
    scale = NETEM_SCALE if path.suffix == ".dist" else 1
    values: list[float] = []
    for number, line in _lines(path):
        for word in line.replace(",", " ").split():
            try:
                value = float(word)
            except ValueError:
                value = float("nan")
            if not abs(value) < 1e9:
                raise BadInput(f"expected numbers, got {word[:40]!r}", f"{path}:{number}")
            values.append(value / scale)
    return values


def _lines(path: Path) -> list[tuple[int, str]]:
    numbered = enumerate(read_text(path).splitlines(), start=1)
    lines = [(number, line.split("#")[0].strip()) for number, line in numbered]
    lines = [(number, line) for number, line in lines if line]
    if not lines:
        raise BadInput("the file is empty", str(path))
    return lines


def _nothing_else(given: dict[str, Any], what: str) -> None:
    if given:
        raise ValueError(f"unknown field {next(iter(given))!r} of a {what} from a file")


READERS: dict[str, Callable[[Path, dict[str, Any]], Any]] = {
    "trace": _trace,
    "pattern": _pattern,
    "table": _table,
}
