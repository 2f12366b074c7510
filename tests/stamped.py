"""The packets of one trial with their stamps, in the sender's clock.

Tests look at them in one wide table: the columns of the schedule, and one for each station, named
as `request wire`.
"""

from __future__ import annotations

import polars as pl

from delaylab_study.analysis.clocks.align import Alignment
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets import segments as parts
from delaylab_study.analysis.packets.segments import Segment, aligned
from delaylab_study.analysis.packets.table import Packets, Stamps, stations_of
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way


def packets(stamps: pl.DataFrame, probes: pl.DataFrame, path: Way) -> pl.DataFrame:
    return wide(aligned(stamps, probes, path)[0])


def of_trial(trial: TrialRecord, stamps: pl.DataFrame, probes: pl.DataFrame) -> TrialPackets:
    return TrialPackets(trial, *aligned(stamps, probes, trial.way))


def of_one_clock(trial: TrialRecord, table: pl.DataFrame) -> TrialPackets:
    return TrialPackets(trial, narrow(table), Alignment("", [], {}, {}))


def wide(found: Packets) -> pl.DataFrame:
    return found.scheduled.with_columns(
        each.times.alias(str(station)) for station, each in found.stations.items()
    )


def narrow(table: pl.DataFrame) -> Packets:
    """The packets of a wide table, all by one clock."""
    names = [name for name in table.columns if " " in name]
    return Packets(
        table.drop(names), {Station(*name.split(" ")): Stamps(table[name]) for name in names}
    )


def column(leg: str, point: str) -> str:
    return str(Station(leg, point))


def columns(way: Way) -> list[str]:
    return [*map(str, stations_of(way))]


def complete(table: pl.DataFrame, way: Way) -> pl.DataFrame:
    return wide(narrow(table).complete(way))


def segments(table: pl.DataFrame, way: Way) -> list[Segment]:
    return parts.segments(narrow(table), way)
