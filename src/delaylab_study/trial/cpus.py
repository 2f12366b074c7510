"""Records of CPUs around some packets of a trial, which `delaylab why` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from delaylab.api.agents import CpuRecording, Hello
from delaylab.api.causes import CpuWindow
from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.tables import OF_CPUS, TABLES
from delaylab_study.study_file.probe import ProbeSpec

SLOWEST, AT_QUANTILE, USUAL = 100, 20, 60
"""Packets that are looked at: the slowest, those around each quantile, and usual ones."""
QUANTILES = (0.5, 0.99, 0.999)
FEWEST_AT_REST = 20
"""The fewest packets at rest that say what is usual; with fewer, packets under load do."""
NEAR_NS = 100_000
"""The most time by which a usual packet takes longer than the median."""
BEFORE_NS, AFTER_NS = 20_000_000, 1_000_000
"""The time around a packet of which records are kept."""
UNTAPPED = "untapped"
Row = tuple[int | str | None, ...]
"""A row of a table, in the order of its columns (`TABLES`)."""


@dataclass(eq=False)
class CpuTables:
    """The tables `windows`, `cpus` and `tasks` of a trial, as they come."""

    machine: str
    lab: str
    windows: list[Row] = field(default_factory=list)
    cpus: list[Row] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)

    def add(self, probe: int, seq: int, usual: bool, window: CpuWindow) -> None:
        """Add the window around a packet."""
        number = len(self.windows)
        span = window.start_ns, window.end_ns
        self.windows.append((number, self.machine, self.lab, probe, seq, usual, *span))
        for each in window.records.values():
            self.cpus += (
                (
                    *(number, record.time_ns, record.cpu, record.what.value),
                    *(record.how.value or None, record.task, record.other, record.number),
                    *(record.length_ns, record.softirqs, record.interrupts),
                )
                for record in each
            )
        self.tasks += (
            (
                *(number, of, task.process, task.name or None, task.placed),
                *(task.lab, task.place, task.of_agent),
            )
            for of, task in window.tasks.items()
        )

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables by name."""
        rows = zip(OF_CPUS, (self.windows, self.cpus, self.tasks), strict=True)
        return {
            name: pl.DataFrame(each, schema=dict(TABLES[name]), orient="row") for name, each in rows
        }


@dataclass(eq=False)
class CpuWatch:
    """A recorder of what the CPUs of the sender's machine do, by its clock.

    `recording` is None if nobody asked for one.
    """

    recording: CpuRecording | None
    tables: CpuTables
    clock: str = ""
    _other_clock: bool = False

    def look(
        self, packets: Sequence[pl.DataFrame], stamps: Sequence[pl.DataFrame], clock: str
    ) -> None:
        """Keep what the CPUs did around the slowest packets, around quantiles, and usual ones.

        The stamps are of the sender's `clock`.
        """
        if self.recording is None or not packets:
            return
        self._other_clock = clock != self.clock
        if self._other_clock:
            return
        for packet in chosen(answered(pl.concat(packets), pl.concat(stamps))).iter_rows(named=True):
            then = partial(self.tables.add, packet["probe"], packet["seq"], packet["usual"])
            start_ns, end_ns = packet["due_ns"] - BEFORE_NS, packet["until_ns"] + AFTER_NS
            self.recording.ask(start_ns, end_ns, then)
        self.recording.end()

    @property
    def doubts(self) -> list[Doubt]:
        """Return the doubt that the CPUs could not be recorded, if they could not."""
        failed = None if self.recording is None else self.recording.failed
        if failed is not None:
            why, fix = failed.what, "run as root, outside of containers (`doctor` tries it)"
        elif self._other_clock:
            why, fix = "the sender has a kernel of its own", "let a node without one send"
        else:
            return []
        return [doubt(DoubtKind.NO_CAUSES, f"why packets were late is not known: {why}", fix)]


@contextmanager
def watching_cpus(lab: LiveLab, probe: ProbeSpec, sender_agent: str) -> Iterator[CpuWatch]:
    """Record what the CPUs of the sender's machine do for the length of a block, if asked for."""
    machine = lab.machine_of(sender_agent)
    tables = CpuTables(machine.name, lab.name)
    if not probe.causes:
        yield CpuWatch(None, tables)
        return
    session = machine.session()
    try:
        clock = session.call(Hello()).done.clock
        recording = CpuRecording(session)
        recording.await_ready()
        yield CpuWatch(recording, tables, clock)
    finally:
        session.close()


def answered(packets: pl.DataFrame, stamps: pl.DataFrame) -> pl.DataFrame:
    """Return the answered packets with when each was due and answered, and the time between."""
    replied = stamps.filter((pl.col("leg") == 1) & (pl.col("point").cast(pl.String) == "app"))
    ends = replied.select("probe", "seq", pl.col("time_ns").alias("until_ns"))
    due = pl.min_horizontal("intended_ns", "sent_ns").alias("due_ns")
    found = packets.filter(pl.col("outcome") == "replied").join(ends, on=["probe", "seq"])
    return found.select(
        "probe",
        "seq",
        "phase",
        due,
        "until_ns",
        (pl.col("until_ns") - due).alias("took_ns"),
    )


def chosen(packets: pl.DataFrame) -> pl.DataFrame:
    """Return the packets to look at, with a column `usual`, in the order of their sequence."""
    load = packets.filter(pl.col("phase") == "load")
    rest = packets.filter(~pl.col("phase").is_in(["load", "again", UNTAPPED]))
    quiet = rest if len(rest) >= FEWEST_AT_REST else load
    usual = quiet.filter(pl.col("took_ns") <= pl.col("took_ns").median() + NEAR_NS)
    usual = usual.gather_every(max(1, len(usual) // USUAL)).head(USUAL)
    parts = [load.top_k(SLOWEST, by="took_ns")]
    for share in QUANTILES:
        at = load["took_ns"].quantile(share, "nearest")
        near = (pl.col("took_ns") - pl.lit(at)).abs()
        parts.append(load.bottom_k(AT_QUANTILE, by=near))
    looked = pl.concat(parts).unique(["probe", "seq"])
    looked = looked.join(usual, on=["probe", "seq"], how="anti")
    return pl.concat(
        [usual.with_columns(pl.lit(True).alias("usual")), looked.with_columns(usual=pl.lit(False))]
    ).sort("probe", "seq")
