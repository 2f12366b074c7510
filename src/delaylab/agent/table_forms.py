"""Forms of the tables that agents send (docs/protocol.md, "Tables"), and their check.

An agent in a guest is the guest's and may send anything. What a dataset refuses when it is read is
refused here, before it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from delaylab.agent.replies import PacketOutcome
from delaylab.dataset.records.base import LARGEST, LONGEST_NAME
from delaylab.io.printable import is_name

if TYPE_CHECKING:
    import polars as pl

_STAMPS = {"probe": "u32", "seq": "u32", "leg": "u8", "point": "name", "time_ns": "i64"}
FORMS: dict[str, dict[str, str]] = {
    "stamps": _STAMPS,
    "repeats": _STAMPS,
    "packets": {
        "probe": "u32",
        "seq": "u32",
        "intended_ns": "i64",
        "sent_ns": "i64 or null",
        "outcome": "outcome",
        "duplicates": "u16",
        "reordered": "bool",
        "error": "text or null",
    },
    "hosts": {"time_ns": "i64", "place": "name", "metric": "name", "value": "f64"},
    "progress": {"time_ns": "i64", "cpu_ns": "i64", "units": "u32"},
    "texts": {"number": "u32", "text": "text"},
    "hops": {"set": "u32", "device": "u32", "gateway": "text or null"},
    "changes": {
        "time_ns": "i64",
        "node": "u32",
        "kind": "u8",
        "what": "u32",
        "value": "u32 or null",
    },
}
"""Columns of each table, with what their values are."""
OUTCOMES = frozenset(get_args(PacketOutcome))
LEGS = 2


def checked(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of a table of this name; raise ValueError if it has another form."""
    form = FORMS.get(name)
    if form is None:
        raise ValueError("there is no such table")
    for column, said in form.items():
        kind, _, nullable = said.partition(" or ")
        if column not in table.columns:
            raise ValueError(f"it has no column {column!r}")
        _check(table[column], kind)
        if not nullable and table[column].null_count():
            raise ValueError(f"its column {column!r} has no value in a row")
    return table.select(list(form))


def _check(values: pl.Series, kind: str) -> None:
    import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

    texts = (pl.String, pl.Categorical)
    numbers = {
        "u8": pl.UInt8,
        "u16": pl.UInt16,
        "u32": pl.UInt32,
        "i64": pl.Int64,
        "f64": pl.Float64,
        "bool": pl.Boolean,
    }
    if values.dtype != numbers[kind] if kind in numbers else values.dtype not in texts:
        raise ValueError(f"its column {values.name!r} is {values.dtype}, not {kind}")
    if kind == "i64" and not values.drop_nulls().is_between(0, LARGEST).all():
        raise ValueError(f"its column {values.name!r} has a number below 0 or above 2⁶²")
    if kind == "f64" and not values.is_finite().all():
        raise ValueError(f"its column {values.name!r} has a value that is not a number")
    if values.name == "leg" and not (values < LEGS).all():
        raise ValueError("its column 'leg' has another value than 0 and 1")
    if kind in ("name", "outcome"):
        _check_words(values, kind)


def _check_words(values: pl.Series, kind: str) -> None:
    for word in values.unique().drop_nulls().to_list():
        fits = word in OUTCOMES if kind == "outcome" else _fits(word)
        if not fits:
            raise ValueError(f"its column {values.name!r} has {word[:LONGEST_NAME]!r}")


def _fits(word: str) -> bool:
    return 0 < len(word) <= LONGEST_NAME and is_name(word)
