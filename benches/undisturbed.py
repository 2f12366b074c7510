"""Rounds of a measurement during which the machine under this one left it its CPUs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 0.002
"""The share of the CPUs' time that a hypervisor may take of an undisturbed round: well below the
hundredth part of the frames whose lateness is told."""
TRIES = 4
"""So many times as many rounds as are wanted are made at most."""


@dataclass(frozen=True)
class Rounds(Generic[T]):
    """What rounds gave, in their order.

    If there were too few undisturbed ones, the least disturbed are kept, too: `worst` says how
    large a share was stolen from one that is kept.
    """

    kept: list[T]
    left_out: list[T]
    worst: float

    def __str__(self) -> str:
        tried = len(self.kept) + len(self.left_out)
        return f"{len(self.kept)} of {tried}, {self.worst:.1%}"


def rounds(measure: Callable[[], T], wanted: int) -> Rounds[T]:
    """Measure until so many rounds were undisturbed, which what they gave has no part in."""
    made: list[tuple[float, int, T]] = []
    while sum(share <= MOST for share, *_ in made) < wanted and len(made) < TRIES * wanted:
        before = stolen_s()
        began = time.monotonic()
        given = measure()
        took = (time.monotonic() - began) * (os.cpu_count() or 1)
        made.append(((stolen_s() - before) / took, len(made), given))
    made.sort(key=lambda each: each[0])
    kept, left_out = made[:wanted], made[wanted:]
    return Rounds(_in_order(kept), _in_order(left_out), max(share for share, *_ in kept))


def _in_order(made: list[tuple[float, int, T]]) -> list[T]:
    return [given for _, _, given in sorted(made, key=lambda each: each[1])]


def stolen_s() -> float:
    """For how long all CPUs together were ready to run and did not (proc_stat(5): steal)."""
    with Path("/proc/stat").open() as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
