"""Export of a dataset's tables for other programs, each with a dictionary of its columns."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from delaylab.api.errors import BadInput, DelaylabError
from delaylab.api.files import own_folder, write_new
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.api.column_meanings import LEVEL, MEANINGS
from delaylab_study.api.datasets import Dataset
from delaylab_study.dataset.records.tables import Schema
from delaylab_study.dataset.store import FACTOR

Format = Literal["parquet", "csv", "arrow"]
Name = Literal["packets", "segments", "work", "trials", "events_of_each", "claims", "scenarios"]
NAMES: tuple[Name, ...] = get_args(Name)
ENDINGS: dict[Format, str] = {"parquet": ".parquet", "csv": ".csv", "arrow": ".arrow"}
DICTIONARY = "dictionary.csv"
CLAIMS: Schema = {
    **dict.fromkeys(("claim", "verdict", "quantity", "rule", "unit"), pl.String),
    **dict.fromkeys(("effect", "low", "high", "published"), pl.Float64),
    **dict.fromkeys(("place", "sentence", "why"), pl.String),
}
SCENARIOS: Schema = {
    **dict.fromkeys(("claim", "quantity", "scenario", "unit"), pl.String),
    **dict.fromkeys(("effect", "low", "high", "published"), pl.Float64),
    "holds": pl.Boolean,
    "aside": pl.Boolean,
}
UNITS = {"_ns": "ns", "_us": "µs", "_s": "s"}
"""The units of columns by the ends of their names."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was written: its table, its rows, and its path."""

    table: str
    rows: int
    path: Path


def export(dataset: Dataset, folder: Path, names: Sequence[Name], form: Format) -> list[Exported]:
    """Write tables and their dictionary into a folder, which may be there; return what was written.

    A table without rows is left out. Raise BadInput if the folder has a file of one of these names,
    DelaylabError if one cannot be written.
    """
    paths = {name: folder / f"{name}{ENDINGS[form]}" for name in names}
    for path in (*paths.values(), folder / DICTIONARY):
        if path.exists():
            raise BadInput("the file is there already", str(path), "give another --out")
    tables = {name: table_of(dataset, name) for name in names}
    full = {name: table for name, table in tables.items() if len(table)}
    own_folder(folder)
    written = [
        Exported(name, len(table), _written(paths[name], table, form))
        for name, table in full.items()
    ]
    rows = dictionary(full)
    path = _written(folder / DICTIONARY, rows, "csv")
    return [*written, Exported("dictionary", len(rows), path)]


def table_of(dataset: Dataset, name: Name) -> pl.DataFrame:
    """Return a table by its name; `segments` has the segments of all phases."""
    if name == "claims":
        return claims_of(dataset.claims())
    if name == "scenarios":
        return scenarios_of(dataset.claims())
    return dataset.table(name)


def claims_of(found: Sequence[Finding]) -> pl.DataFrame:
    """Return one row for each claim: its verdict, and the effect that decided it."""
    rows = [
        {
            "claim": each.id,
            "verdict": each.verdict,
            "quantity": each.of,
            "rule": each.rule,
            "unit": each.unit,
            "effect": each.effect,
            **_ends(each.interval),
            "published": each.published,
            "place": each.place,
            "sentence": each.sentence,
            "why": each.why,
        }
        for each in found
    ]
    return pl.DataFrame(rows, schema=dict(CLAIMS))


def scenarios_of(found: Sequence[Finding]) -> pl.DataFrame:
    """Return one row for each scenario of each claim, from which its verdict follows."""
    rows = [
        {
            "claim": each.id,
            "quantity": criterion.quantity,
            "scenario": scenario.name,
            "unit": criterion.unit,
            "effect": scenario.effect,
            **_ends(scenario.interval),
            "published": scenario.published,
            "holds": scenario.stand,
            "aside": scenario.aside,
        }
        for each in found
        for criterion in each.criteria
        for scenario in criterion.scenarios
    ]
    return pl.DataFrame(rows, schema=dict(SCENARIOS))


def dictionary(tables: dict[Name, pl.DataFrame]) -> pl.DataFrame:
    """Return one row for each column of each table: its type, its unit, and what it means."""
    rows = [
        {
            "table": name,
            "column": column,
            "type": str(kind),
            "unit": unit_of(column),
            "meaning": meaning_of(name, column),
        }
        for name, table in tables.items()
        for column, kind in table.schema.items()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(_DICTIONARY, pl.String))


_DICTIONARY = ("table", "column", "type", "unit", "meaning")


def unit_of(column: str) -> str:
    """Return the unit of a column, which its name ends with; "" if it has none."""
    return next((unit for end, unit in UNITS.items() if column.endswith(end)), "")


def meaning_of(table: Name, column: str) -> str:
    """Return what a column means; a factor's is the level of it."""
    if column.startswith(FACTOR):
        return LEVEL.format(column.removeprefix(FACTOR))
    return MEANINGS[table][column]


def _ends(interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval if interval is not None else (None, None)
    return {"low": low, "high": high}


def _written(path: Path, table: pl.DataFrame, form: Format) -> Path:
    file = io.BytesIO()
    if form == "parquet":
        table.write_parquet(file, compression="zstd")
    elif form == "arrow":
        table.write_ipc(file, compression="zstd")
    else:
        table.write_csv(file, line_terminator="\r\n")
    try:
        write_new(path, file.getvalue())
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(path)) from None
    return path


def names_of(given: Sequence[str]) -> list[Name]:
    """Return the tables of these names, all if none is given; raise BadInput for another name."""
    for name in given:
        if name not in NAMES:
            raise BadInput(f"no table {name!r}", "--table", f"one of {', '.join(NAMES)}")
    return list(_known(given)) or list(NAMES)


def _known(given: Sequence[str]) -> Iterator[Name]:
    yield from (name for name in NAMES if name in given)
