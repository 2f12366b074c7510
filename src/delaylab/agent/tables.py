"""Decoder of table frames (docs/protocol.md, "Tables"): a JSON header, then columns."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from delaylab.agent.table_forms import checked

if TYPE_CHECKING:
    import polars as pl

_LENGTH = struct.Struct("<I")
_NUMBERS = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i64": "<i8", "f64": "<f8", "bool": "?"}
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error)
"""Errors of bytes that are not a table."""
_MISSING = 0xFFFFFFFF
"""The index that marks a missing text."""
LONGEST_TEXT = 20_000


@dataclass
class _Reader:
    """A reader that takes the bytes behind a header column by column."""

    data: bytes
    rows: int
    position: int

    def take(self, kind: str, name: str = "") -> pl.Series:
        import numpy as np  # noqa: PLC0415  slow to load, and most verbs need none
        import polars as pl  # noqa: PLC0415

        values = np.frombuffer(self.data, np.dtype(kind), self.rows, self.position)
        self.position += values.nbytes
        return pl.Series(name, values)


def joined(name: str, parts: Sequence[bytes], key: Sequence[str] = ()) -> pl.DataFrame:
    """Return the table of a name from its parts, in the order in which they came.

    With `key`, a later row replaces an earlier one that is alike in these columns, and the rows are
    sorted by them. Raise ValueError if a part is damaged, or of another form than such a table.
    """
    import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

    table = pl.concat(decode(name, part) for part in parts)
    return table.unique(key, keep="last").sort(key) if key and len(parts) > 1 else table


def decode(name: str, part: bytes) -> pl.DataFrame:
    """Return a part of the table of a name; raise ValueError if it is not one of such a table."""
    import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

    try:
        table = _decoded(part)
    except (*_DAMAGED, pl.exceptions.PolarsError) as error:
        raise ValueError(f"it is damaged: {error}") from None
    return checked(name, table)


def _decoded(part: bytes) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415

    (length,) = _LENGTH.unpack_from(part)
    begin = _LENGTH.size + length
    header = json.loads(part[_LENGTH.size : begin])
    reader = _Reader(part, header["rows"], begin)
    columns = [
        _column(reader, each["name"], each["type"], each.get("values", []), each.get("nullable"))
        for each in header["columns"]
    ]
    if reader.position != len(part):
        raise ValueError(f"{len(part) - reader.position} bytes follow the last column")
    return pl.DataFrame(columns)


def _column(
    reader: _Reader, name: str, kind: str, texts: list[str], nullable: bool | None
) -> pl.Series:
    if kind in ("text", "label"):
        return _texts(reader, name, texts, label=kind == "label")
    known = reader.take("?") if nullable else None
    values = reader.take(_NUMBERS[kind], name)
    return values if known is None else values.set(~known, None)


def _texts(reader: _Reader, name: str, values: list[str], *, label: bool) -> pl.Series:
    import polars as pl  # noqa: PLC0415

    if max(map(len, values), default=0) > LONGEST_TEXT:
        raise ValueError(f"a text of column {name!r} is longer than {LONGEST_TEXT} characters")
    places = reader.take("<u4").replace(_MISSING, len(values))
    texts = pl.Series(name, [*values, None], dtype=pl.String).gather(places)
    return texts.cast(pl.Categorical) if label else texts
