"""Estimates from simulated data sets, and the number of intervals that cover the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delaylab_study.analysis.statistics.compare import compare
from delaylab_study.analysis.statistics.effects import estimate, of_medians, share
from delaylab_study.analysis.statistics.factors import associations
from delaylab_study.analysis.statistics.quantiles import locate
from tools.coverage.processes import QUANTILES, SLOWER, Process, Random, truth

ALPHA = 0.05
RATIO = of_medians(lambda first, second: first / second)
FACTORS = [(first, second) for first in ("a", "b") for second in ("c", "d")]


@dataclass
class Tally:
    """The number of data sets with an interval, and of those whose interval covers the truth."""

    of: int = 0
    given: int = 0
    covered: int = 0

    def add(self, interval: tuple[float, float] | None, value: float) -> None:
        """Count a data set."""
        self.of += 1
        if interval is not None and np.isfinite(interval).all():
            self.given += 1
            self.covered += interval[0] <= value <= interval[1]

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both."""
        return Tally(self.of + other.of, self.given + other.given, self.covered + other.covered)


SHARES = {"share of 10 %": 0.9, "share of 1 %": 0.99}
"""Shares of packets above a limit, and the quantile that is the limit."""
NAMES = (
    *("median", "p90", "p99", *SHARES, "shift of medians", "Cliff's delta", "ratio of medians"),
    *("Mann-Whitney", "shift", "delta", "Kendall, family"),
)
"""Intervals, then tests of identical processes; a test that finds nothing covers."""
TESTS = NAMES[-4:]


def tallied(process: Process, random: Random, tallies: dict[str, Tally]) -> None:
    """Draw one data set and count which of its intervals cover the truth."""
    known = truth(process)
    ours, theirs = process.run(random), process.run(random)
    slow = [SLOWER * trial for trial in ours]
    for name, q, located in zip(NAMES, QUANTILES, locate(ours, QUANTILES), strict=False):
        tallies[name].add(located.among_trials(), known.quantiles[q])
    for name, q in SHARES.items():
        above = share([trial > known.quantiles[q] for trial in ours], ours)
        tallies[name].add(above.interval, 1 - q)
    found = compare(slow, theirs)
    median = known.quantiles[0.5]
    tallies["shift of medians"].add(found.shift.interval, (SLOWER - 1) * median)
    tallies["Cliff's delta"].add(found.delta.interval, known.delta)
    tallies["ratio of medians"].add(estimate([slow, theirs], RATIO).interval, SLOWER)
    same = compare(ours, theirs)
    tallies["Mann-Whitney"].add((0, 1) if same.p >= ALPHA else (2, 2), 0)
    for name, effect in (("shift", same.shift), ("delta", same.delta)):
        tallies[name].add(effect.interval, 0)
    tallies["Kendall, family"].add((0, 1) if family(process, random) >= ALPHA else (2, 2), 0)


def family(process: Process, random: Random) -> float:
    """Return the smallest p of all levels of two factors that change nothing."""
    series = [
        ({"one": first, "other": second}, trial)
        for first, second in FACTORS
        for trial in process.run(random)
    ]
    return min(each.p for each in associations(series))


def tally(process: Process, seeds: range) -> dict[str, Tally]:
    """Return what seeded data sets of a process give."""
    tallies = {name: Tally() for name in NAMES}
    for seed in seeds:
        tallied(process, np.random.default_rng(seed), tallies)
    return tallies
