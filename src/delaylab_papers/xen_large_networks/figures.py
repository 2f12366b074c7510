"""Shares and rates of N nodes as a table beside the paper's; and what they need for MPI."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import Cells, Group, Table, is_virtual_machine, jain, rate, share

from . import mpi_figures
from .measures import (
    CPU,
    LINUX,
    NETWORK,
    SCP,
    ByRepeat,
    cpu_time,
    deviations,
    jains,
    kinds,
    totals,
    used,
    work_rate,
)
from .published import CPU_DEVIATION, NETPERF_5, NETPERF_5_PROCESSES

OF_PAPER = {("machine", "5"): jain(NETPERF_5), (LINUX, "5"): jain(NETPERF_5_PROCESSES)}


def tables(groups: list[Group]) -> list[Table]:
    """Return how evenly N nodes of each kind share the machine, and what they get done in all."""
    rows = [_row(groups, kind, n) for kind, n in kinds(groups) if _shares(groups, kind, n)]
    mpi = mpi_figures.tables(groups)
    if not rows:
        return mpi
    return [
        Table(
            "N nodes at the same work",
            "CPU and scp: the largest distance of a node's share of the CPU time (user and system, "
            "by getrusage) from the equal share, over the equal share. Network: Jain's index of "
            "the same times, which is 1 if all are equal and 1/N if one node has all. In colour "
            "the paper's, of virtual machines and of plain processes (linux). Against linux: what "
            "all nodes get done together in a second, over what as many plain processes do. Means "
            "of the trials.",
            ["kind", "N", "CPU", "against linux", "network: Jain", "in all", "scp"],
            rows,
            texts=2,
        ),
        *mpi,
    ]


def _shares(groups: list[Group], kind: str, n: str) -> bool:
    """Return True if these nodes had work whose shares are told, in one trial at least."""
    return any(used(groups, kind, n, work) for work in (CPU, NETWORK, SCP))


def _row(groups: list[Group], kind: str, n: str) -> Cells:
    theirs = OF_PAPER.get(("machine" if is_virtual_machine(kind) else kind, n))
    published = CPU_DEVIATION.get(n) if is_virtual_machine(kind) else None
    return [
        kind,
        n,
        _cell(_mean(deviations(groups, kind, n, CPU, cpu_time)), published),
        _against(groups, kind, n),
        _cell(_mean(jains(groups, kind, n, NETWORK, cpu_time)), theirs),
        _rate(_mean(totals(groups, kind, n, NETWORK, work_rate))),
        _cell(_mean(deviations(groups, kind, n, SCP, cpu_time)), None),
    ]


def _against(groups: list[Group], kind: str, n: str) -> str:
    own, plain = (_mean(totals(groups, each, n, CPU, work_rate)) for each in (kind, LINUX))
    return "–" if own is None or not plain else share(own / plain)


def _mean(values: ByRepeat) -> float | None:
    return float(np.mean(list(values.values()))) if values else None


def _cell(value: float | None, published: float | None) -> str | tuple[str, str]:
    here = "–" if value is None else f"{value:.3f}"
    return here if published is None else (here, f"{published:.3f}")


def _rate(value: float | None) -> str:
    return "–" if value is None else rate(value, "bit/s")
