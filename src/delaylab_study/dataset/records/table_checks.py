"""Reader of a dataset's tables, which limits their size and checks them against their schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException

from delaylab.api.errors import BadInput
from delaylab.api.files import check_file, is_name
from delaylab.api.points import LEGS
from delaylab.api.records import LARGEST, LONGEST_NAME
from delaylab_study.dataset.records.outcomes import OUTCOMES
from delaylab_study.dataset.records.tables import ADDED, NULLABLE, TABLES

MOST_BYTES = 1 << 40
ROWS_FOR_NOTHING, ROWS_A_BYTE = 1_000_000, 10
"""Largest number of rows: a constant, plus so many for each byte of the file. Tables written by
delaylab have less than one row per byte, because stamps differ."""
MOST_NAMES = 100_000
"""Largest number of different names (of points, clocks, places, metrics) in one table."""

PHASES = frozenset({"untapped", "before", "load", "again", "after"})
WHATS = frozenset({"table", "link", "adjacency", "lost"})
FATES = frozenset({"black-hole", "loop"})
_LIST = re.compile(r"[A-Za-z0-9_.:@,%/ +-]{1,20000}")
"""Names of nodes, or next hops, joined by commas."""
DEEDS = frozenset({"switch", "waking", "softirq", "interrupt", "signal", "stolen", "reclaim"})
MANNERS = frozenset({"runnable", "asleep", "blocked", "stopped", "ended", "throttled"}) | {
    *("task", "timer", "interrupt", "network", "softirq"),
}
LONGEST_PROGRAM = 64
NAMES: dict[str, Callable[[str], object]] = {
    "leg": LEGS.__contains__,
    "phase": PHASES.__contains__,
    "outcome": OUTCOMES.__contains__,
    "what": WHATS.__contains__,
    "fate": FATES.__contains__,
    "nodes": _LIST.fullmatch,
    "became": _LIST.fullmatch,
    "did": DEEDS.__contains__,
    "how": MANNERS.__contains__,
    "program": lambda name: 0 < len(name) <= LONGEST_PROGRAM,
    **dict.fromkeys(
        (
            "point",
            "clock",
            "reference",
            "machine",
            "place",
            "metric",
            "work",
            "node",
            "about",
            "destination",
            "lab",
            "part",
        ),
        lambda name: 0 < len(name) <= LONGEST_NAME and is_name(name),
    ),
}
"""Check of each column that holds names: true for an allowed name."""


def read_table(place: Path, name: str) -> pl.DataFrame:
    """Read a table of a trial; raise BadInput, in one line, if it breaks its schema."""
    size = check_file(place, MOST_BYTES)
    try:
        lazy = _whole(pl.scan_parquet(place, glob=False), name)
        _check_schema(lazy.collect_schema(), name)
        _check_rows(lazy.select(pl.len()).collect().item(), size)
        table = lazy.select(list(TABLES[name])).collect()
        check_table(table, name)
    except PanicException as error:
        raise BadInput("damaged: its reader crashed", str(place)) from error
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BadInput(f"damaged: {line}", str(place)) from error
    return table


def _whole(table: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Return a table with the columns added that earlier versions did not write."""
    there = table.collect_schema()
    added = ADDED.get(name, {}).items()
    return table.with_columns(
        pl.lit(value).alias(column) for column, value in added if column not in there
    )


def _check_schema(schema: pl.Schema, name: str) -> None:
    for column, kind in TABLES[name].items():
        if column not in schema:
            raise ValueError(f"not a table of {name}: it has no column {column!r}")
        if schema[column] != kind:
            raise ValueError(f"column {column!r} is {schema[column]}, not {kind()}")


def _check_rows(rows: int, size: int) -> None:
    most = ROWS_FOR_NOTHING + ROWS_A_BYTE * size
    if rows > most:
        raise ValueError(f"{rows} rows in {size} bytes; at most {most} (see docs/limits.md)")


def check_table(table: pl.DataFrame, name: str) -> None:
    """Raise ValueError, in one line, if a value of a table is not one that it may have."""
    for column in table.columns:
        nulls = table[column].null_count()
        if nulls and column not in NULLABLE:
            raise ValueError(f"column {column!r} is empty in {nulls} rows")
        if column in NAMES:
            _check_names(table[column], column)
        elif column.endswith("_ns"):
            _check_times(table[column], column)
    for column, kind in table.schema.items():
        if kind == pl.Float64 and not table[column].is_finite().all():
            raise ValueError(f"column {column!r} has values that are not numbers")
    if name == "probes" and table.select("probe", "seq").is_duplicated().any():
        raise ValueError("a packet is scheduled twice")


def _check_names(names: pl.Series, column: str) -> None:
    each = names.unique()
    found = len(each) - each.null_count()
    if found > MOST_NAMES:
        raise ValueError(f"column {column!r} holds {found} names; at most {MOST_NAMES}")
    allowed = NAMES[column]
    wrong = next((name for name in each.to_list() if name is not None and not allowed(name)), None)
    if wrong is not None:
        raise ValueError(f"column {column!r} holds {wrong[:60]!r}, which is no {column}")


def _check_times(times: pl.Series, column: str) -> None:
    least = -LARGEST if column == "slip_ns" else 0
    outside = (times < least) | (times > LARGEST)
    if outside.any():
        raise ValueError(f"column {column!r} has times before 1970 or after 2116")
