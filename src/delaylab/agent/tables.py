"""Decoder of table frames (docs/protocol.md, "Tables"): a JSON header, then columns.

A part of a table is checked against its schema before anything is made of it: `check` needs no
more memory than the header. `decode` then checks each value.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from delaylab.agent.bounded_json import MOST_BYTES, read_object
from delaylab.agent.table_schemas import Column, Schema, width

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

_LENGTH = struct.Struct("<I")
_NUMBERS = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i64": "<i8", "f64": "<f8", "bool": "u1"}
_MISSING = 0xFFFFFFFF
"""The index that marks a missing text."""
_HEADER, _HEADER_OF_ROW = 1 << 20, 1 << 10
"""The most bytes of a header: a constant, plus so many for each row."""
SHOWN, MOST_WORDS = 100, 20
"""The most characters of a text that an error shows, and the most words that it might be."""
MOST_ROWS = 1 << 20
"""The most rows of one part; an agent sends no more at once."""
MOST_LABELS = 10_000
"""The most texts that a header has and no row uses: the points of a tap."""


@dataclass(frozen=True)
class Part:
    """A part of a table that was checked: its rows, where they begin, and the texts of columns."""

    rows: int
    begin: int
    texts: dict[str, list[str]]


def joined(schema: Schema, parts: Sequence[bytes], key: Sequence[str] = ()) -> pl.DataFrame:
    """Return a table from its parts, in the order in which they came.

    With `key`, a later row replaces an earlier one that is alike in these columns, and the rows are
    sorted by them. Raise ValueError if a part is damaged.
    """
    import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

    table = pl.concat(decode(schema, part) for part in parts)
    return table.unique(key, keep="last").sort(key) if key and len(parts) > 1 else table


def check(schema: Schema, part: bytes) -> Part:
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
    return Part(_rows(header.get("rows"), rest, width(schema)), begin, texts)


def decode(schema: Schema, part: bytes) -> pl.DataFrame:
    """Return one part of a table, given without its name; raise ValueError if it is damaged."""
    import polars as pl  # noqa: PLC0415

    checked = check(schema, part)
    place, columns = checked.begin, []
    for column, kind in schema.items():
        values = part[place : place + kind.width * checked.rows]
        place += len(values)
        try:
            texts = checked.texts.get(column)
            columns.append(
                _numbers(column, kind, values, checked.rows)
                if texts is None
                else _texts(column, kind, values, texts)
            )
        except ValueError as error:
            raise ValueError(f"column {column!r} {error}") from None
    return pl.DataFrame(columns)


def check_once(stamps: pl.DataFrame, most: Mapping[str, int] | None = None) -> None:
    """Raise ValueError if a packet is stamped twice at a point, on one leg.

    `most` has the points at which it may be stamped more often: two interfaces may be one point.
    """
    import polars as pl  # noqa: PLC0415

    key = ("probe", "seq", "leg", "point")
    again = stamps.group_by(key).len().filter(pl.col("len") > 1)
    for probe, seq, _, point, times in again.iter_rows():
        if times > (most or {}).get(point, 1):
            raise ValueError(f"packet {seq} of probe {probe} is stamped {times} times at {point!r}")


def _rows(given: object, rest: int, each: int) -> int:
    """Return the number of rows in the bytes that are left, if it is the given one."""
    # True is an int, too.
    if type(given) is not int or given * each != rest:
        raise ValueError(f"{rest} bytes are not as many rows as it says, of {each} bytes each")
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


def _numbers(name: str, column: Column, data: bytes, rows: int) -> pl.Series:
    import numpy as np  # noqa: PLC0415  slow to load, and most verbs need none
    import polars as pl  # noqa: PLC0415

    known = None
    if column.nullable:
        flags = np.frombuffer(data, "u1", rows)
        if rows and flags.max() > 1:
            raise ValueError("has a value that is neither there nor missing")
        known, data = flags.view("?"), data[rows:]
    values = np.frombuffer(data, _NUMBERS[column.kind], rows)
    _check_range(values if known is None else values[known], column)
    series = pl.Series(name, values.view("?") if column.kind == "bool" else values)
    return series if known is None else series.set(pl.Series(~known), None)


def _check_range(values: np.ndarray, column: Column) -> None:
    import numpy as np  # noqa: PLC0415

    if not len(values):
        return
    if column.kind == "f64":
        if not np.isfinite(values).all():
            raise ValueError("has values that are not numbers")
    elif values.min() < column.least or (column.most is not None and values.max() > column.most):
        what = f"from {column.least}" + ("" if column.most is None else f" to {column.most}")
        raise ValueError(f"has values that are not {what}")


def _texts(name: str, column: Column, data: bytes, values: list[str]) -> pl.Series:
    import numpy as np  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415

    places = np.frombuffer(data, "<u4")
    missing = places == _MISSING
    if missing.any() and not column.nullable:
        raise ValueError("is empty in some rows")
    if (places[~missing] >= len(values)).any():
        raise ValueError("has the number of a text that is not there")
    found = pl.Series(name, [*values, None], dtype=pl.String)
    texts = found.gather(np.where(missing, np.uint32(len(values)), places))
    return texts.cast(pl.Categorical) if column.kind == "label" else texts
