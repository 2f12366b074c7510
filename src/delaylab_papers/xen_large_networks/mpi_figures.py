"""Run times of a program of MPI, and of its messages, as a table."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import Cells, Group, Table, delay, seconds, times

from .measures import LINUX, ByRepeat, kinds, mean_ratio
from .mpi_measures import ACROSS, NEAR, run_times_s, smallest_ns

NONE = "–"
_US = 1e3


def tables(groups: list[Group]) -> list[Table]:
    """Return how long the nodes of each kind take for a program of MPI, and for a message."""
    rows = [row for kind, n in kinds(groups) if (row := _row(groups, kind, n))]
    if not rows:
        return []
    return [
        Table(
            "N nodes that run a program of MPI together",
            "Run time: of hpcc on all nodes. Against linux: the run time over that by as many "
            "plain processes. It is normally below 1.15 in the paper, whose programs compute more "
            "and send less. Round trip: of a "
            "message of 1 byte between two nodes of this host, and between two hosts, over the "
            "wire. Means of the trials.",
            ["kind", "N", "run time", "against linux", "round trip, one host", "two hosts"],
            rows,
            texts=2,
        )
    ]


def _row(groups: list[Group], kind: str, n: str) -> Cells:
    """Return the row of one kind and number of nodes; nothing if there is no work of MPI."""
    here, plain = run_times_s(groups, kind, n), run_times_s(groups, LINUX, n)
    near, across = (smallest_ns(groups, kind, n, work) for work in (NEAR, ACROSS))
    if not (here or near or across):
        return []
    against = mean_ratio(here, plain)
    return [
        kind,
        n,
        seconds(_mean(here)) if here else NONE,
        NONE if against is None else times(against.value),
        _delay(near),
        _delay(across),
    ]


def _delay(values: ByRepeat) -> str:
    return delay(_mean(values) / _US) if values else NONE


def _mean(values: ByRepeat) -> float:
    return float(np.mean(list(values.values())))
