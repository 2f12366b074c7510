"""Decoder of table frames (docs/protocol.md, "Tables"): a JSON header, then columns.

A part of a table is checked against its schema before anything is made of it: `check` needs no
more memory than the header. `raw_columns` then yields the bytes of each column, and `check_values`
says whether its values may be. Values are made in plain Python here, and with numpy by
`trial/frames.py`; both find what `check_values` asks for.
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TypeVar

from delaylab.agent.bounded_json import MOST_BYTES, read_object
from delaylab.agent.table_schemas import WIDTHS, Column, Schema, width

N = TypeVar("N", int, float)
_LENGTH = struct.Struct("<I")
_CODES = {"u8": "B", "u16": "H", "u32": "I", "i64": "q", "bool": "B"}
MISSING = 0xFFFFFFFF
"""The number that marks a missing text."""
_HEADER, _HEADER_OF_ROW = 1 << 20, 1 << 10
"""The most bytes of a header: a constant, plus so many for each row."""
SHOWN, MOST_WORDS = 100, 20
"""The most characters of a text that an error shows, and the most words that it might be."""
MOST_ROWS = 1 << 20
"""The most rows of one part; an agent sends no more at once."""
MOST_LABELS = 10_000
"""The most texts that a header has and no row uses: the points of a tap."""


@dataclass(frozen=True)
class PartOfTable:
    """A part of a table that was checked: its rows, where they begin, and the texts of columns."""

    rows: int
    begin: int
    texts: dict[str, list[str]]


@dataclass(frozen=True)
class Form:
    """The form of a table that a request asked for.

    With a `key`, a later row replaces an earlier one that is alike in these columns, and the rows
    are sorted by them. A packet has at most one stamp at each point of each leg in a table with
    `once`, which names the points that may have more, with their numbers.
    """

    schema: Schema
    key: Sequence[str] = ()
    once: Mapping[str, int] | None = None


@dataclass(frozen=True)
class RawColumn:
    """A column as it was sent: its numbers, or the numbers of its `texts`.

    `flags` has a byte for each row of a nullable column of numbers: 1 if there is a value.
    """

    name: str
    column: Column
    flags: bytes | None
    data: bytes
    texts: list[str]


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """The facts about a column by which `check_values` decides.

    `between` has the least and the largest number; it is None for fractions, which only have to be
    `finite`, and for a column without numbers. `text` is the largest number of a text. None of them
    counts missing values. `flags` is False if a flag is not 0 or 1.
    """

    between: tuple[int, int] | None = None
    finite: bool = True
    flags: bool = True
    text: int = -1
    missing: bool = False


def check(schema: Schema, part: bytes) -> PartOfTable:
    """Return what the header of one part of a table says; raise ValueError if it is damaged.

    The part is given without the table's name. Its columns are those of the table's schema, and it
    has as many bytes as its rows need.
    """
    if len(part) < _LENGTH.size:
        raise ValueError("it has no header")
    (length,) = _LENGTH.unpack_from(part)
    begin = _LENGTH.size + length
    if begin > len(part):
        raise ValueError("it ends in its header")
    rest = len(part) - begin
    most_rows = rest // width(schema)
    most = min(MOST_BYTES, _HEADER + _HEADER_OF_ROW * most_rows)
    header = read_object(part[_LENGTH.size : begin], most)
    texts = _columns(header.get("columns"), schema, most_rows)
    return PartOfTable(_rows(header.get("rows"), rest, width(schema)), begin, texts)


def raw_columns(schema: Schema, part: bytes) -> Iterator[RawColumn]:
    """Yield the columns of one part of a table, given without its name.

    Raise ValueError if the part is damaged.
    """
    checked = check(schema, part)
    end = checked.begin
    for name, column in schema.items():
        flags = None
        if column.nullable and not column.is_text:
            flags, end = part[end : end + checked.rows], end + checked.rows
        begin, end = end, end + WIDTHS[column.kind] * checked.rows
        yield RawColumn(name, column, flags, part[begin:end], checked.texts.get(name, []))


def check_values(raw: RawColumn, found: ColumnFacts) -> None:
    """Raise ValueError if a column has values that its schema does not allow."""
    column, why = raw.column, ""
    least, most = found.between or (column.least, column.least)
    if not found.flags:
        why = "has a value that is neither there nor missing"
    elif not found.finite:
        why = "has values that are not numbers"
    elif least < column.least or (column.most is not None and most > column.most):
        what = f"from {column.least}" + ("" if column.most is None else f" to {column.most}")
        why = f"has values that are not {what}"
    elif found.missing and not column.nullable:
        why = "is empty in some rows"
    elif found.text >= len(raw.texts):
        why = "has the number of a text that is not there"
    if why:
        raise ValueError(f"column {raw.name!r} {why}")


def twice(probe: int, seq: int, times: int, point: str) -> ValueError:
    """Return the error for a packet that is stamped more often at a point than it can be."""
    return ValueError(f"packet {seq} of probe {probe} is stamped {times} times at {point!r}")


@dataclass(frozen=True)
class Rows:
    """One part of a table as plain values: each column has one for each row, in their order.

    Columns are by name, those that may lack values apart. Times are in ns; a `bool` is 0 or 1.
    """

    numbers: dict[str, Sequence[int]] = field(default_factory=dict)
    fractions: dict[str, Sequence[float]] = field(default_factory=dict)
    texts: dict[str, Sequence[str]] = field(default_factory=dict)
    some_numbers: dict[str, Sequence[int | None]] = field(default_factory=dict)
    some_texts: dict[str, Sequence[str | None]] = field(default_factory=dict)


def plain(form: Form, parts: Sequence[bytes]) -> list[Rows]:
    """Return the parts of a table; later rows do not replace earlier ones yet.

    Raise ValueError if a part is damaged, or a packet is stamped twice at a point.
    """
    found = [decode(form.schema, part) for part in parts]
    if form.once is not None:
        _check_once(found, form.once)
    return found


def decode(schema: Schema, part: bytes) -> Rows:
    """Return one part of a table, given without its name; raise ValueError if it is damaged."""
    rows = Rows()
    for raw in raw_columns(schema, part):
        if raw.column.is_text:
            _add_texts(rows, raw)
        elif raw.column.kind == "f64":
            values = _in_order(array("d", raw.data))
            check_values(raw, ColumnFacts(finite=all(map(math.isfinite, values))))
            rows.fractions[raw.name] = values
        else:
            _add_numbers(rows, raw)
    return rows


def _add_numbers(rows: Rows, raw: RawColumn) -> None:
    numbers = _in_order(array(_CODES[raw.column.kind], raw.data))
    flags, column = raw.flags, raw.column
    known = numbers
    if flags and 0 in flags:
        known = array(numbers.typecode, compress(numbers, flags))
    # The others may be any that their bytes can say.
    ranged = column.kind == "i64" or column.least or column.most is not None
    between = (min(known), max(known)) if ranged and known else None
    check_values(
        raw, ColumnFacts(between=between, flags=not (flags or b"").translate(None, b"\0\1"))
    )
    if flags is None:
        rows.numbers[raw.name] = numbers
    elif known is numbers:
        rows.some_numbers[raw.name] = numbers
    else:
        both = zip(numbers, flags, strict=True)
        rows.some_numbers[raw.name] = [number if there else None for number, there in both]


def _add_texts(rows: Rows, raw: RawColumn) -> None:
    numbers = _in_order(array("I", raw.data))
    missing = MISSING in numbers
    there = filter(MISSING.__ne__, numbers) if missing else numbers
    largest = max(there, default=-1)
    check_values(raw, ColumnFacts(text=largest, missing=missing))
    if raw.column.nullable:
        text_of = dict[int, str | None](enumerate(raw.texts)) | {MISSING: None}
        rows.some_texts[raw.name] = [text_of[each] for each in numbers]
    else:
        rows.texts[raw.name] = [raw.texts[each] for each in numbers]


def _in_order(values: array[N]) -> array[N]:
    """Return values with the bytes in this machine's order; a table has the lowest first."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _check_once(stamps: Sequence[Rows], most: Mapping[str, int]) -> None:
    """Raise ValueError if a packet is stamped twice at a point, or more often than `most` says."""
    taken: dict[tuple[int, int, str], array[int]] = defaultdict(lambda: array("I"))
    for part in stamps:
        of_part = (part.numbers[name] for name in ("probe", "leg", "seq"))
        for probe, leg, seq, point in zip(*of_part, part.texts["point"], strict=True):
            taken[probe, leg, point].append(seq)
    for (probe, _, point), packets in taken.items():
        if len(set(packets)) < len(packets):
            ((seq, times),) = Counter(packets).most_common(1)
            if times > most.get(point, 1):
                raise twice(probe, seq, times, point)


def _rows(given: object, rest: int, size: int) -> int:
    """Return the number of rows in the bytes that are left, if it is the given one."""
    # True is an int, too.
    if type(given) is not int or given * size != rest:
        raise ValueError(f"{rest} bytes are not as many rows as it says, of {size} bytes each")
    if given > MOST_ROWS:
        raise ValueError(f"one part has {given} rows, more than {MOST_ROWS}")
    return given


def _columns(given: object, schema: Schema, rows: int) -> dict[str, list[str]]:
    """Return the texts of the columns that have some; raise ValueError for any other columns."""
    if not isinstance(given, list) or len(given) != len(schema):
        raise ValueError(f"it has other columns than {', '.join(schema)}")
    texts = {}
    for each, (name, column) in zip(given, schema.items(), strict=True):
        if not isinstance(each, dict) or each.get("name") != name:
            raise ValueError(f"it has other columns than {', '.join(schema)}")
        flagged = column.nullable and not column.is_text
        if each.get("type") != column.kind or each.get("nullable", False) is not flagged:
            raise ValueError(f"column {name!r} is not of type {column.kind}")
        values = each.get("values", [])
        if column.is_text:
            texts[name] = _checked_texts(name, column, values, rows)
        elif values != []:
            raise ValueError(f"column {name!r} has texts")
    return texts


def _checked_texts(name: str, column: Column, values: object, rows: int) -> list[str]:
    if not isinstance(values, list) or len(values) > rows + MOST_LABELS:
        raise ValueError(f"column {name!r} has more texts than rows")
    for text in values:
        if not isinstance(text, str):
            raise ValueError(f"column {name!r} has what is not a text")
        if not column.fits(text):
            one_of = (
                f"one of {', '.join(sorted(column.words)[:MOST_WORDS])}" if column.words else ""
            )
            what = one_of or ("a name" if column.name else "such a text")
            raise ValueError(f"column {name!r} has {text[:SHOWN]!r}, which is not {what}")
    return values
