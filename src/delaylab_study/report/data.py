"""Tables of a report for scripts: as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite

from delaylab.api.files import Json, JsonObject, printable
from delaylab_study.report.value import (
    Block,
    Cell,
    Judged,
    Lazy,
    Noticed,
    Part,
    Row,
    Section,
    Table,
    Value,
)
from delaylab_study.report.written import DASH, plain, values_in

Record = Mapping[str, Value]
NOTE = "note"
"""The key of words that stand where a row has no values."""


def records(sections: Iterable[Section]) -> dict[str, list[Record]]:
    """Return the rows of tables by their key; tables without one are left out."""
    found: dict[str, list[Record]] = {}
    for section in sections:
        for table in _tables(section.parts):
            found.setdefault(table.key, []).extend(_record(table, row) for row in table.rows)
    return found


def rows_of(table: Table) -> list[Record]:
    """Return the rows of one table; where a column has words alone, its head is their key."""
    columns = [replace(column, key=column.key or column.head) for column in table.columns]
    if table.key:
        columns = [*table.columns]
    return [_record(replace(table, columns=columns), row) for row in table.rows]


def json_of(rows: Iterable[Record]) -> list[JsonObject]:
    """Return rows as JSON: each value with unit, interval, doubts and what it needs, if any."""
    return [{key: _json(value) for key, value in row.items()} for row in rows]


def csv_of(rows: Sequence[Record]) -> bytes:
    """Return rows as CSV (RFC 4180) in UTF-8; the ends of an interval have columns of their own.

    What is not known is empty.
    """
    columns: dict[str, dict[str, None]] = {}
    for value in (value for row in rows for value in row.values()):
        columns.setdefault(value.key, {}).update((name, None) for name, _ in _cells(value))
    text = io.StringIO(newline="")
    made = csv.DictWriter(text, [name for of_key in columns.values() for name in of_key])
    made.writeheader()
    made.writerows({k: v for value in row.values() for k, v in _cells(value)} for row in rows)
    return text.getvalue().encode()


def _tables(parts: Iterable[Part]) -> Iterator[Table]:
    for part in parts:
        if isinstance(part, Table) and part.key:
            yield part
        elif isinstance(part, Block | Noticed | Judged):
            yield from _tables(part.parts)
        elif isinstance(part, Lazy) and "data" in part.on:
            yield from _tables(part.parts(0))


def _record(table: Table, row: Row) -> Record:
    """Return the values of a row, those in words first: they tell it from other rows."""
    labels, found = [*table.share], list[Value]()
    for at, made in enumerate(row):
        words = made.words if isinstance(made, Cell) else made
        if words is None:
            continue
        found += values_in(words)
        covers = row[at + 1 : at + 2] == [None]
        key = NOTE if covers else table.columns[at].key if table.columns else ""
        said = plain(words) if key else ""
        if key and (said or not covers):
            labels.append(Value(key, None if said in ("", DASH) else said))
    found.sort(key=lambda each: not isinstance(each.value, str))
    return {each.key: each for each in (*labels, *found)}


def _json(value: Value) -> JsonObject:
    found: dict[str, Json] = {"value": _known(value.value)}
    if value.unit:
        found["unit"] = value.unit
    if value.interval is not None:
        ends = [*map(_known, value.interval)]
        found["interval"] = None if None in ends else ends
    if value.doubts:
        found["doubts"] = value.doubts
    if value.needs:
        found["needs"] = asdict(value.needs)
    return found


def _cells(value: Value) -> Iterator[tuple[str, Json]]:
    found = _known(value.value)
    if isinstance(found, bool):
        found = "true" if found else "false"
    yield value.key, printable(found) if isinstance(found, str) else found
    if value.interval is not None:
        low, high = map(_known, value.interval)
        yield from ((f"{value.key}_low", low), (f"{value.key}_high", high))
    if value.doubts:
        yield f"{value.key}_doubts", printable("; ".join(value.doubts))
    if value.needs:
        yield f"{value.key}_needs_packets", value.needs.packets
        yield f"{value.key}_needs_s", value.needs.seconds


def _known(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and not isfinite(value) else value
