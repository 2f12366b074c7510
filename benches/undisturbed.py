"""Rounds of a measurement during which a hypervisor left this machine its CPUs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 0.002
"""Largest share of the CPUs' time that a hypervisor may take of an undisturbed round: well below 1
%, the share of frames that lies beyond the p99 of the lateness."""
TRIES = 4
"""Largest number of rounds made, as a multiple of the rounds wanted."""


@dataclass(frozen=True)
class Rounds(Generic[T]):
    """Results of rounds, in the order in which they were made.

    If too few rounds were undisturbed, the least disturbed others are kept, too. `worst` is the
    largest share of the CPUs' time that was stolen from a round that is kept.
    """

    kept: list[T]
    left_out: list[T]
    worst: float

    def __str__(self) -> str:
        tried = len(self.kept) + len(self.left_out)
        return f"{len(self.kept)} of {tried}, {self.worst:.1%}"


def rounds(
    measure: Callable[[], T],
    wanted: int,
    disturbance: Callable[[T], float] = lambda _: 0.0,
    within_s: float = math.inf,
) -> Rounds[T]:
    """Measure until enough rounds were undisturbed; their results have no part in that choice.

    `disturbance` rates the state of a round's CPU, not what was measured; above 1 the round counts
    as disturbed. After `within_s` none is made beyond the number wanted.
    """
    made: list[_Made[T]] = []
    end_s = time.monotonic() + within_s

    def more() -> bool:
        if sum(each.disturbed <= 1 for each in made) >= wanted:
            return False
        return len(made) < wanted or (len(made) < TRIES * wanted and time.monotonic() < end_s)

    while more():
        before = stolen_s()
        began = time.monotonic()
        given = measure()
        took = (time.monotonic() - began) * (os.cpu_count() or 1)
        stolen = (stolen_s() - before) / took
        made.append(_Made(stolen, max(stolen / MOST, disturbance(given)), len(made), given))
    made.sort(key=lambda each: each.disturbed)
    kept, left_out = made[:wanted], made[wanted:]
    return Rounds(_in_order(kept), _in_order(left_out), max(each.stolen for each in kept))


@dataclass(frozen=True)
class _Made(Generic[T]):
    stolen: float
    disturbed: float
    number: int
    given: T


def _in_order(made: list[_Made[T]]) -> list[T]:
    return [each.given for each in sorted(made, key=lambda each: each.number)]


def stolen_s() -> float:
    """Return the seconds that all CPUs were ready to run but did not get (proc_stat(5): steal)."""
    with Path("/proc/stat").open() as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
