"""Windows of time around packets, as a dataset has them, as values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from delaylab.api.causes import (
    HERE,
    OF_KERNEL,
    CpuRecord,
    CpuWindow,
    How,
    Leg,
    SentAgain,
    Task,
    What,
    by_cpu,
    numbered_from,
)
from delaylab.api.records import LOCAL_NAME
from delaylab_study.dataset.store import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelWindow:
    """A record of what the CPUs of one kernel did around a packet, by its own clock.

    `machine` is the name of the machine, or of a node that has a kernel of its own. `again` is what
    an end of the packet's TCP connection sent again there.
    """

    machine: str
    clock: str
    window: CpuWindow
    again: Sequence[SentAgain] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketWindows:
    """A packet of a lab, whether it is a usual one or a drawn one, and what CPUs did around it.

    The first of the `kernels` is the sender's. Tasks have numbers of their own among all of them.
    """

    lab: str
    probe: int
    seq: int
    usual: bool
    drawn: bool
    kernels: Sequence[KernelWindow]

    @property
    def key(self) -> tuple[int, int]:
        """Return the packet's probe and its sequence number."""
        return self.probe, self.seq


def windows(study: Study, trial: str) -> Iterator[PacketWindows]:
    """Yield the windows of a trial, in the order of its packets; none if no CPUs were recorded."""
    found, records, tasks, again, _ = study.of_cpus(trial)
    if not len(found):
        return
    of_window, named, sent_again = map(_by_window, (records, tasks, again))
    clocks = list(dict.fromkeys(found["clock"]))

    def of_kernel(
        number: int, machine: str, clock: str, start_ns: int, end_ns: int
    ) -> KernelWindow:
        window = CpuWindow(
            start_ns=start_ns,
            end_ns=end_ns,
            records=by_cpu(_records(of_window.get(number, records.clear()))),
            tasks=dict(_tasks(named.get(number, tasks.clear()))),
        )
        if first := clocks.index(clock) * OF_KERNEL:
            window = numbered_from(window, first)
        again_here = _sent_again(sent_again.get(number, again.clear()), machine)
        return KernelWindow(machine=machine, clock=clock, window=window, again=list(again_here))

    for part in found.partition_by("probe", "seq", maintain_order=True):
        each = part.select("window", "machine", "clock", "start_ns", "end_ns").iter_rows()
        kernels = [of_kernel(*row) for row in each]
        yield PacketWindows(
            lab=part["lab"][0],
            probe=part["probe"][0],
            seq=part["seq"][0],
            usual=part["usual"][0],
            drawn=part["drawn"][0],
            kernels=sorted(kernels, key=lambda kernel: clocks.index(kernel.clock)),
        )


def _by_window(table: pl.DataFrame) -> dict[object, pl.DataFrame]:
    return {key[0]: each for key, each in table.partition_by("window", as_dict=True).items()}


def _sent_again(table: pl.DataFrame, machine: str) -> Iterator[SentAgain]:
    where = HERE if machine == LOCAL_NAME else machine
    for time_ns, first_ns, leg, needless, part in table.drop("window").iter_rows():
        yield SentAgain(
            time_ns=time_ns,
            first_ns=first_ns,
            leg=Leg(leg),
            where=part or where,
            needless=needless,
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
