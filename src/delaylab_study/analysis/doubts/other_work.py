"""Work outside the lab: the programs and the control groups that kept CPUs busy."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

NAMED = 5
"""Largest number of programs, and of control groups, that are named for a phase or a packet."""
_PROGRAM = r"^program\.\d+\.(.+)$"
_ENDED = r"^program\.0\.(.+)$"
"""Metric of the children of a program that ended between two readings."""
_GROUP = r"^group\.(.+)$"
_CONTAINER = re.compile(r"([0-9a-f]{12})[0-9a-f]{52}")
"""Name that container managers give: people know it by its first 12 digits."""
_NAMES = {
    "programs": pl.coalesce(
        "ended children of " + pl.col("metric").str.extract(_ENDED),
        pl.col("metric").str.extract(_PROGRAM),
    ),
    "groups": pl.col("metric").str.extract(_GROUP),
}


@dataclass(frozen=True, slots=True)
class BusyProgram:
    """A program outside the lab by its name, and how many CPUs all its processes kept busy."""

    name: str
    cpus: float


@dataclass(frozen=True, slots=True)
class BusyGroup:
    """A control group outside the lab by its path, and how many CPUs it kept busy.

    What ran in it and has ended counts, but not what ran in a group below it.
    """

    name: str
    cpus: float

    @property
    def short(self) -> str:
        """Return the path for people, with the start of each container's number."""
        return _CONTAINER.sub(r"\1", self.name)


def readings(machine: pl.DataFrame) -> pl.DataFrame:
    """Return the busiest `programs` and `groups` at each time they were read.

    They are about the time since the reading before. `machine` are the machine's own metrics.
    """
    joined = machine.filter(pl.col("metric") == "processes").select("time_ns")
    for column, name in _NAMES.items():
        found = (
            machine.with_columns(name.alias("name"))
            .filter(pl.col("name").is_not_null())
            .group_by("time_ns", "name", maintain_order=True)
            .agg(pl.col("value").sum().alias("cpus"))
            .group_by("time_ns", maintain_order=True)
            .agg(pl.struct("name", "cpus").alias(column))
        )
        joined = joined.join(found, on="time_ns", how="left", maintain_order="left")
        joined = joined.with_columns(pl.col(column).fill_null([]))
    return joined.sort("time_ns")


def busiest_programs(record: pl.DataFrame) -> tuple[BusyProgram, ...]:
    """Return the programs that kept most CPUs busy in intervals, the busiest first."""
    return tuple(BusyProgram(*each) for each in _busiest(record, "programs"))


def busiest_groups(record: pl.DataFrame) -> tuple[BusyGroup, ...]:
    """Return the control groups that kept most CPUs busy in intervals, the busiest first."""
    return tuple(BusyGroup(*each) for each in _busiest(record, "groups"))


def _busiest(record: pl.DataFrame, column: str) -> list[tuple[str, float]]:
    known = len(record) - record[column].null_count()
    found = record.select(pl.col(column).explode().drop_nulls().struct.unnest())
    # Summed in their order: what Polars sums in parallel differs in its last digits each time.
    cpus: dict[str, float] = {}
    for name, used in found.iter_rows():
        cpus[name] = cpus.get(name, 0.0) + used
    first = sorted(cpus.items(), key=lambda item: (-item[1], item[0]))[:NAMED]
    return [(name, used / known) for name, used in first]
