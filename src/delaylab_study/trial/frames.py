"""Tables of an agent as frames of polars, made with numpy: quick for millions of stamps.

What is checked is said in `agent/tables.py`, which makes plain values of tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel

from delaylab.api.agents import (
    MISSING,
    ColumnFacts,
    Form,
    RawColumn,
    Result,
    Schema,
    check_values,
    raw_columns,
    twice,
)

T = TypeVar("T", bound=BaseModel)
_NUMBERS = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i64": "<i8", "f64": "<f8", "bool": "u1"}


def frame(result: Result[T], name: str) -> pl.DataFrame:
    """Return a table of a result, the parts that have come joined.

    Raises AgentError if the agent sent none, or a damaged one.
    """
    return result.read(name, joined)


def joined(form: Form, parts: Sequence[bytes]) -> pl.DataFrame:
    """Return a table from its parts, in the order in which they came.

    Raise ValueError if a part is damaged, or a packet is stamped twice at a point.
    """
    try:
        table = pl.concat(decode(form.schema, part) for part in parts)
        if form.key and len(parts) > 1:
            table = table.unique(form.key, keep="last").sort(form.key)
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error)) from None
    if form.once is not None:
        _check_once(table, form.once)
    return table


def decode(schema: Schema, part: bytes) -> pl.DataFrame:
    """Return one part of a table, given without its name; raise ValueError if it is damaged."""
    return pl.DataFrame(
        [_texts(raw) if raw.column.is_text else _numbers(raw) for raw in raw_columns(schema, part)]
    )


def _check_once(stamps: pl.DataFrame, most: Mapping[str, int]) -> None:
    again = stamps.group_by("probe", "seq", "leg", "point").len().filter(pl.col("len") > 1)
    for probe, seq, _, point, times in again.iter_rows():
        if times > most.get(point, 1):
            raise twice(probe, seq, times, point)


def _numbers(raw: RawColumn) -> pl.Series:
    flags = None if raw.flags is None else np.frombuffer(raw.flags, "u1")
    values = np.frombuffer(raw.data, _NUMBERS[raw.column.kind])
    known = values if flags is None else values[flags != 0]
    right = flags is None or int(flags.max(initial=0)) <= 1
    if raw.column.kind == "f64":
        check_values(raw, ColumnFacts(flags=right, finite=bool(np.isfinite(known).all())))
    else:
        check_values(raw, ColumnFacts(flags=right, between=_between(known)))
    series = pl.Series(raw.name, values.view("?") if raw.column.kind == "bool" else values)
    return series if flags is None else series.set(pl.Series(flags == 0), None)


def _between(values: NDArray[np.integer]) -> tuple[int, int] | None:
    return (int(values.min()), int(values.max())) if len(values) else None


def _texts(raw: RawColumn) -> pl.Series:
    numbers = np.frombuffer(raw.data, "<u4")
    missing = numbers == MISSING
    there = numbers[~missing]
    largest = int(there.max()) if len(there) else -1
    check_values(raw, ColumnFacts(text=largest, missing=bool(missing.any())))
    found = pl.Series(raw.name, [*raw.texts, None], dtype=pl.String)
    texts = found.gather(np.where(missing, np.uint32(len(raw.texts)), numbers))
    return texts.cast(pl.Categorical) if raw.column.kind == "label" else texts
