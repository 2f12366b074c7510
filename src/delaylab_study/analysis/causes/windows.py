"""Windows of time around packets, as a dataset has them, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from delaylab.api.causes import CpuRecord, CpuWindow, How, Task, What, by_cpu
from delaylab_study.dataset.store import Study


@dataclass(frozen=True, slots=True)
class PacketWindow:
    """A packet of a lab, whether it is a usual one, and what the CPUs did around it."""

    lab: str
    probe: int
    seq: int
    usual: bool
    window: CpuWindow


def windows(study: Study, trial: str) -> Iterator[PacketWindow]:
    """Yield the windows of a trial, in the order of its packets; none if no CPUs were recorded."""
    found, records, tasks = study.of_cpus(trial)
    if not len(found):
        return
    of_window = {key[0]: each for key, each in records.partition_by("window", as_dict=True).items()}
    named = {key[0]: each for key, each in tasks.partition_by("window", as_dict=True).items()}
    for row in found.iter_rows(named=True):
        number = row["window"]
        yield PacketWindow(
            row["lab"],
            row["probe"],
            row["seq"],
            row["usual"],
            CpuWindow(
                start_ns=row["start_ns"],
                end_ns=row["end_ns"],
                records=by_cpu(_records(of_window.get(number, records.clear()))),
                tasks=dict(_tasks(named.get(number, tasks.clear()))),
            ),
        )


def _records(table: pl.DataFrame) -> Iterator[CpuRecord]:
    for row in table.iter_rows(named=True):
        yield CpuRecord(
            time_ns=row["time_ns"],
            cpu=row["cpu"],
            what=What(row["did"]),
            how=How(row["how"] or ""),
            task=row["task"],
            other=row["other"],
            number=row["number"],
            length_ns=row["length_ns"],
            softirqs=row["softirqs"],
            interrupts=row["interrupts"],
        )


def _tasks(table: pl.DataFrame) -> Iterator[tuple[int, Task]]:
    for row in table.iter_rows(named=True):
        yield (
            row["task"],
            Task(
                process=row["process"],
                name=row["program"] or "",
                placed=row["known"],
                lab=row["lab"],
                place=row["part"],
                of_agent=row["agent"],
            ),
        )
