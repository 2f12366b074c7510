"""Use of reserved CPUs by others than the nodes that they are reserved for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from delaylab_study.analysis.doubts.machine_state import MACHINE, Window
from delaylab_study.dataset.records.trial import ReservedCpus, TrialRecord


@dataclass(frozen=True, slots=True)
class ReservedSeen:
    """Reserved CPUs in one trial under load.

    `others` is the share of their time that others used, or that a hypervisor stole; None if the
    machine's record does not tell.
    """

    trial: str
    cpus: list[int]
    nodes: list[str]
    others: float | None


def reserved_seen(
    trial: TrialRecord, hosts: pl.DataFrame, phases: Iterable[Window], phase: str
) -> list[ReservedSeen]:
    """Return what others used of each reserved set of CPUs in one of the phases.

    `hosts` is the trial's record of the machine.
    """
    inside = pl.lit(False)
    for name, start_ns, end_ns in phases:
        if name == phase:
            inside = pl.col("time_ns").is_between(start_ns, end_ns)
    record = hosts.filter(inside)
    return [
        ReservedSeen(trial.id, reserved.cpus, reserved.nodes, _others(record, reserved))
        for reserved in trial.reserved
    ]


def _others(record: pl.DataFrame, reserved: ReservedCpus) -> float | None:
    idle = [_mean(record, MACHINE, (f"cpu{cpu}.idle", f"cpu{cpu}.iowait")) for cpu in reserved.cpus]
    used = [_mean(record, node, ("cpus",)) for node in reserved.nodes]
    if None in idle or None in used:
        return None
    busy = sum(1 - (share or 0.0) for share in idle)
    by_nodes = sum(cpus or 0.0 for cpus in used)
    return max(0.0, busy - by_nodes) / len(reserved.cpus)


def _mean(record: pl.DataFrame, place: str, metrics: tuple[str, ...]) -> float | None:
    """Return the mean over time of the sum of metrics of a place; None if there are none."""
    rows = record.filter((pl.col("place") == place) & pl.col("metric").is_in(list(metrics)))
    if rows.is_empty():
        return None
    return float(rows.group_by("time_ns").agg(pl.col("value").sum())["value"].to_numpy().mean())
