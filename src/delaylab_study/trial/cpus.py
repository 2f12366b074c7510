"""Records of CPUs around some packets of a trial, of retransmissions and of drops.

`delaylab why` reads them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl

from delaylab.api.agents import CpuRecording, Hello, Session
from delaylab.api.causes import LOST, CpuWindow, Drop, Task, TcpConnection, last_drops
from delaylab.api.machines import Machine
from delaylab.api.names import node_agent
from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab.api.running import LinkRecords, LiveLab
from delaylab_study.dataset.records.tables import OF_CPUS, TABLES
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.clock_readings import ahead_ns
from delaylab_study.trial.drawn import with_drawn
from delaylab_study.trial.passages import WantedPassages

SLOWEST, AT_QUANTILE, USUAL = 100, 20, 60
"""Packets that are looked at: the slowest, those around each quantile, and usual ones."""
QUANTILES = (0.5, 0.99, 0.999)
FEWEST_AT_REST = 20
"""The fewest packets at rest that say what is usual; with fewer, packets under load do."""
NEAR_NS = 100_000
"""The most time by which a usual packet takes longer than the median."""
BEFORE_NS, AFTER_NS = 20_000_000, 1_000_000
"""The time around a packet of which records are kept."""
CLOCKS_NS = 1_000_000
"""The time after it that is added on other kernels, whose clocks are known less well."""
LOST_NS = 5_000_000_000
"""The time after a lost packet was due within which a link may have dropped it."""
UNTAPPED = "untapped"
Packet = tuple[int, int]
"""A packet's probe and sequence number."""
Row = tuple[int | str | None, ...]
"""A row of a table, in the order of its columns (`TABLES`)."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel whose CPUs are recorded: that of a machine, or a node's own (`node`).

    `name` is the machine's or the node's, `clock` that of its stamps. `connect` opens a session
    with an agent that it runs.
    """

    name: str
    clock: str
    connect: Callable[[], Session]
    node: str | None = None


@dataclass(eq=False)
class CpuTables:
    """The tables `OF_CPUS` of a trial, as they come.

    `connections` are the TCP connections of requests to a service, by packet.
    """

    lab: str
    windows: list[Row] = field(default_factory=list)
    cpus: list[Row] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)
    retransmissions: list[Row] = field(default_factory=list)
    drops: list[Row] = field(default_factory=list)
    connections: Mapping[Packet, TcpConnection] = field(default_factory=dict)

    def add(
        self, kernel: Kernel, probe: int, seq: int, usual: bool, drawn: bool, window: CpuWindow
    ) -> None:
        """Add what the CPUs of a kernel did around a packet."""
        number = len(self.windows)
        span = window.start_ns, window.end_ns
        of = (number, kernel.name, kernel.clock, self.lab)
        self.windows.append((*of, probe, seq, usual, drawn, *span))
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
                *(number, of_task, task.process, task.name or None, task.placed),
                *self._part(kernel, task),
                task.of_agent,
            )
            for of_task, task in window.tasks.items()
        )
        if (connection := self.connections.get((probe, seq))) is not None:
            again = connection.sent_again(window.retransmissions, kernel.node or "")
            self.retransmissions += (
                (
                    *(number, each.time_ns, each.first_ns),
                    *(each.leg.value, each.needless),
                    each.where or None,
                )
                for each in again
            )

    def add_drops(self, kernel: Kernel, packets: Set[Packet], drops: list[Drop]) -> None:
        """Add how a kernel dropped packets, of those with these probes and sequence numbers."""
        of = kernel.name, kernel.clock
        for (probe, seq), each in last_drops(drops).items():
            if (probe, seq) in packets:
                at = each.reason, each.interface, each.place or kernel.node
                self.drops.append((*of, probe, seq, each.time_ns, each.cpu, *at))

    def _part(self, kernel: Kernel, task: Task) -> tuple[str | None, str | None]:
        """Return the lab and the part of it that a task is of.

        In a node with a kernel of its own the agent is the node. Other tasks are in no lab, because
        they have no packets of it; they have a place all the same.
        """
        if kernel.node is None:
            return task.lab, task.place
        return self.lab if task.of_agent else None, kernel.node

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables by name."""
        rows = (self.windows, self.cpus, self.tasks, self.retransmissions, self.drops)
        return {
            name: pl.DataFrame(each, schema=dict(TABLES[name]), orient="row")
            for name, each in zip(OF_CPUS, rows, strict=True)
        }


@dataclass(eq=False)
class KernelWatch:
    """A recorder of what the CPUs of a kernel do, with how far its clock is ahead of this one.

    Each reading is the time of this machine and how far the other clock was ahead then, in ns.
    """

    kernel: Kernel
    recording: CpuRecording
    readings: list[tuple[int, int]] = field(default_factory=list)

    def read_clock(self) -> None:
        """Note how far the kernel's clock is ahead now."""
        session = self.kernel.connect()
        try:
            self.readings.append((time.time_ns(), ahead_ns(session)))
        finally:
            session.close()

    def ahead_ns(self, time_ns: float) -> float:
        """Return how far the clock was ahead at a time of this machine, in ns."""
        times, ahead = zip(*self.readings, strict=True)
        return float(np.interp(time_ns, times, ahead))


@dataclass(eq=False)
class CpuWatch:
    """Recorders of all kernels on the way of a probe, that of its sender first.

    There are none if nobody asked for them. `passages` are those of packets through links.
    """

    kernels: Sequence[KernelWatch]
    records: CpuTables
    passages: WantedPassages

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return all tables by name; they have no rows if nobody asked for causes."""
        return {**self.records.tables, **self.passages.tables}

    def look(
        self,
        packets: Sequence[pl.DataFrame],
        stamps: Sequence[pl.DataFrame],
        connections: Mapping[Packet, TcpConnection],
    ) -> None:
        """Keep what CPUs did around packets: the slowest, around quantiles, usual ones, drawn ones.

        Of packets that nobody answered keep how a kernel dropped them. The stamps are those of the
        sender's clock. `connections` are those of requests to a service.
        """
        if not self.kernels or not packets:
            return
        self.records.connections = connections
        for each in self.kernels:
            each.read_clock()
        sent = pl.concat(packets)
        for packet in chosen(answered(sent, pl.concat(stamps))).iter_rows(named=True):
            of = packet["probe"], packet["seq"], packet["usual"], packet["drawn"]
            for each, start_ns, end_ns in self._spans(packet["due_ns"], packet["until_ns"]):
                each.recording.ask(start_ns, end_ns, partial(self.records.add, each.kernel, *of))
                self.passages.want(each.kernel.clock, *of[:2], start_ns, end_ns)
        lost = sent.filter(pl.col("outcome").cast(pl.String).is_in(LOST))
        if len(lost):
            keys = set(lost.select("probe", "seq").iter_rows())
            first_ns, last_ns = int(str(lost["intended_ns"].min())), time.time_ns()
            for each, start_ns, end_ns in self._spans(first_ns, last_ns):
                then = partial(self.records.add_drops, each.kernel, keys)
                each.recording.ask_drops(start_ns, end_ns, then)
            for probe, seq, due_ns in lost.select("probe", "seq", "intended_ns").iter_rows():
                for each, start_ns, end_ns in self._spans(due_ns, due_ns + LOST_NS):
                    self.passages.want(each.kernel.clock, probe, seq, start_ns, end_ns)
        self.passages.read()
        for each in self.kernels:
            each.recording.end()

    def _spans(self, from_ns: int, to_ns: int) -> Iterator[tuple[KernelWatch, int, int]]:
        """Yield a time of the sender's clock as each kernel's clock has it, with some room."""
        sender, *others = self.kernels
        yield sender, from_ns - BEFORE_NS, to_ns + AFTER_NS
        for each in others:
            here_ns = from_ns - sender.ahead_ns(from_ns)
            ahead_ns = round(each.ahead_ns(here_ns) - sender.ahead_ns(here_ns))
            yield each, from_ns + ahead_ns - BEFORE_NS, to_ns + ahead_ns + AFTER_NS + CLOCKS_NS

    @property
    def doubts(self) -> list[Doubt]:
        """Return a doubt for each kernel whose CPUs could not be recorded."""
        fix = "run as root, outside of containers (`doctor` tries it)"
        return [
            doubt(
                DoubtKind.NO_CAUSES,
                f"why packets were late is not known{where}: {failed.what}",
                fix if each.kernel.node is None else "",
            )
            for number, each in enumerate(self.kernels)
            if (failed := each.recording.failed) is not None
            for where in (f" of {each.kernel.name}" if number or each.kernel.node else "",)
        ]


@contextmanager
def watching_cpus(lab: LiveLab, probe: ProbeSpec) -> Iterator[CpuWatch]:
    """Record what CPUs do on the way of a probe for the length of a block, if that is asked for."""
    with ExitStack() as stack:
        watched = []
        for kernel in kernels_of(lab, probe) if probe.causes else ():
            session = kernel.connect()
            stack.callback(session.close)
            recording = CpuRecording(session)
            recording.await_ready()
            watched.append(KernelWatch(kernel, recording))
            watched[-1].read_clock()
        links = LinkRecords(lab) if probe.causes else None
        if links is not None:
            stack.callback(links.close)
        yield CpuWatch(watched, CpuTables(lab.name), WantedPassages(links))


def kernels_of(lab: LiveLab, probe: ProbeSpec) -> list[Kernel]:
    """Return the kernels of the sender, of the responder, and of the lab's machines."""
    ends = [node_agent(name) for name in (probe.sender, *([] if probe.outside else [probe.to]))]
    machines = [*map(lab.machine_of, ends), *lab.machines.values()]
    of_machines = {_clock(each.session): each for each in machines}
    found: dict[str, Kernel] = {}
    for agent in ends:
        clock = lab.clock(agent)
        if clock not in of_machines:
            found.setdefault(clock, Kernel(agent, clock, partial(lab.session, agent), agent))
        else:
            found.setdefault(clock, _of_machine(clock, of_machines[clock]))
    for clock, machine in of_machines.items():
        found.setdefault(clock, _of_machine(clock, machine))
    return list(found.values())


def _of_machine(clock: str, machine: Machine) -> Kernel:
    return Kernel(machine.name, clock, machine.session)


def _clock(connect: Callable[[], Session]) -> str:
    session = connect()
    try:
        return session.call(Hello()).done.clock
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
    """Return the packets to look at, with columns `usual` and `drawn`, in their order."""
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
    found = pl.concat(
        [usual.with_columns(pl.lit(True).alias("usual")), looked.with_columns(usual=pl.lit(False))]
    )
    return with_drawn(found, load).sort("probe", "seq")
