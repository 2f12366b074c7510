"""Programs of MPI as the paper would have them run, or another truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from delaylab_study.papers.toolkit import Figure, Latency, Random, WorkDone, is_virtual_machine

from .mpi_measures import ACROSS, LEAST_ORDER, NEAR, OPERATIONS, REAL, SOLVE

WORKS = {"mpi": SOLVE, "messages": NEAR, "messages-across": ACROSS}
"""The levels of factor `work` with MPI, and the work of each."""
PROCESSES_S = 1.0
"""The run time of the program by plain processes of one computer."""
WIRE_NS = {1: 100e3, 1024: 300e3, 65536: 12e6}
"""The time of a round trip over the wire, by the size of the message in bytes."""
_NS = 1e9


@dataclass(frozen=True)
class MpiTruth:
    """The truth on MPI, invented: figures 15 to 20 are not legible in the copy that we have.

    `slower` is the run time on machines over that by processes, which the paper says is normally
    below 1.15. `times_n` is the run time on N machines of one computer over N times that on N
    computers: 1 in the paper. `near` is the time of a message on one host over that on the wire:
    less than 1 in the paper. `order` is the number of equations that the program solves, `noise`
    the relative difference between two runs.
    """

    slower: float = 1.08
    times_n: float = 1.0
    near: float = 0.5
    order: float = LEAST_ORDER
    noise: float = 0.01


def work(truth: MpiTruth, levels: Mapping[str, str], random: Random) -> list[WorkDone]:
    """Return the work of one trial of MPI at these levels."""
    name = WORKS[levels["work"]]
    names = [f"guest-{at + 1}" for at in range(int(levels["n"]))]
    nodes = names if name == SOLVE else names[:2] if name == NEAR else [names[0], "far-1"]
    wall_s = _run_time_s(truth, levels) * (1 + truth.noise * random.standard_normal())
    return [
        WorkDone(
            work=name,
            node=node,
            unit="runs/s",
            rate=1 / wall_s,
            wall_ns=round(wall_s * _NS),
            user_ns=0,
            system_ns=0,
            together=True,
            latencies=_latencies(truth, name, random) if at == 0 else [],
            figures=_figures(truth.order, wall_s) if at == 0 and name == SOLVE else [],
        )
        for at, node in enumerate(nodes)
    ]


def _run_time_s(truth: MpiTruth, levels: Mapping[str, str]) -> float:
    on_machines = PROCESSES_S * truth.slower
    if levels["kind"] == REAL:
        return on_machines / truth.times_n / int(levels["n"])
    return on_machines if is_virtual_machine(levels["kind"]) else PROCESSES_S


def _figures(order: float, solving_s: float) -> list[Figure]:
    rate = 2 / 3 * order**3 / solving_s
    return [
        Figure(name="linpack-order", value=order, unit="equations"),
        Figure(name="linpack", value=rate, unit="flop/s"),
    ]


def _latencies(truth: MpiTruth, name: str, random: Random) -> list[Latency]:
    if name == SOLVE:
        return []
    factor = truth.near if name == NEAR else 1.0
    return [
        Latency(
            operation=operation,
            size_bytes=size,
            repeats=1000,
            median_ns=wire_ns * factor * (1 + truth.noise * random.standard_normal()),
            least_ns=wire_ns * factor / 2,
        )
        for operation in OPERATIONS
        for size, wire_ns in WIRE_NS.items()
    ]
