"""Decoder of table frames (docs/protocol.md, "Tables"): a JSON header, then columns."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_LENGTH = struct.Struct("<I")
_NUMBERS = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i64": "<i8", "f64": "<f8", "bool": "?"}
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error)
"""Errors of bytes that are not a table."""
_MISSING = 0xFFFFFFFF
"""The index that marks a missing text."""


@dataclass
class _Reader:
    """A reader that takes the bytes behind a header column by column."""

    data: bytes
    rows: int
    position: int

    def take(self, kind: str) -> Any:
        import numpy as np  # noqa: PLC0415  slow to load, and most verbs need none

        values = np.frombuffer(self.data, np.dtype(kind), self.rows, self.position)
        self.position += values.nbytes
        return values


def decode(part: bytes) -> pl.DataFrame:
    """Return one part of a table, given without its name; raise ValueError if it is damaged."""
    import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

    try:
        return _decoded(part)
    except (*_DAMAGED, pl.exceptions.PolarsError) as error:
        raise ValueError(f"it is damaged: {error}") from None


def _decoded(part: bytes) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415

    (length,) = _LENGTH.unpack_from(part)
    begin = _LENGTH.size + length
    header = json.loads(part[_LENGTH.size : begin])
    reader = _Reader(part, header["rows"], begin)
    columns = [_column(reader, about) for about in header["columns"]]
    if reader.position != len(part):
        raise ValueError(f"{len(part) - reader.position} bytes follow the last column")
    return pl.DataFrame(columns)


def _column(reader: _Reader, about: dict[str, Any]) -> pl.Series:
    import polars as pl  # noqa: PLC0415

    name, kind = about["name"], about["type"]
    if kind in ("text", "label"):
        return _texts(reader, name, about.get("values", []), label=kind == "label")
    known = reader.take("?") if about.get("nullable") else None
    values = pl.Series(name, reader.take(_NUMBERS[kind]))
    return values if known is None else values.set(pl.Series(~known), None)


def _texts(reader: _Reader, name: str, values: list[str], *, label: bool) -> pl.Series:
    import polars as pl  # noqa: PLC0415

    indices = reader.take("<u4")
    missing = len(values)
    places = pl.Series(indices).replace(_MISSING, missing)
    texts = pl.Series(name, [*values, None], dtype=pl.String).gather(places)
    return texts.cast(pl.Categorical) if label else texts
