"""Long trials of one series, whose memory may be longer than a stretch: their own, smaller table.

The delays' logarithms have a slow part, autoregressive over `memory` packets, and one without
memory. Their quantiles have a formula, so no truth is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, hypot
from statistics import NormalDist

import numpy as np
from scipy.signal import lfilter

from delaylab_study.analysis.doubts.packets import MEMORIES
from delaylab_study.analysis.statistics.compare import compare
from delaylab_study.analysis.statistics.effects import share
from delaylab_study.analysis.statistics.quantiles import locate
from tools.coverage.measures import ALPHA, Tally
from tools.coverage.processes import QUANTILES, Floats, Random

SLOW, FAST = 0.5, 0.3
NAMES = ("median", "p90", "p99", "share of 1 %", "shift", "delta", "Mann-Whitney")


@dataclass(frozen=True)
class LongTrial:
    """A trial of `n` packets whose slow part is correlated over `memory` packets."""

    memory: int
    n: int

    def draw(self, random: Random) -> Floats:
        """Return the delays of a trial."""
        kept = exp(-1 / self.memory)
        shocks = random.normal(0, np.sqrt(1 - kept**2), self.n)
        shocks[0] = random.normal()
        slow = lfilter([1.0], [1.0, -kept], shocks)
        return np.asarray(np.exp(SLOW * slow + FAST * random.normal(size=self.n)))


CASES = [
    LongTrial(memory, n)
    for memory, n in (
        *((10, 100_000), (100, 100_000), (1000, 100_000), (5000, 100_000), (20_000, 100_000)),
        *((5000, 200_000), (20_000, 500_000)),
    )
]


def quantile(q: float) -> float:
    """Return the true quantile of such delays."""
    return exp(NormalDist().inv_cdf(q) * hypot(SLOW, FAST))


def tally(trial: LongTrial, seeds: range) -> tuple[dict[str, Tally], int]:
    """Return what seeded trials give that are not doubted, and the number of those that are."""
    tallies, doubted = {name: Tally() for name in NAMES}, 0
    for seed in seeds:
        random = np.random.default_rng(seed)
        ours, theirs = trial.draw(random), trial.draw(random)
        located = locate(ours, QUANTILES)
        if located[0].effective < MEMORIES:
            doubted += 1
            continue
        for name, q, found in zip(NAMES, QUANTILES, located, strict=False):
            tallies[name].add(found.among_trials(), quantile(q))
        tallies["share of 1 %"].add(share([ours > quantile(0.99)], [ours]).interval, 0.01)
        same = compare(ours, theirs)
        tallies["shift"].add(same.shift.interval, 0)
        tallies["delta"].add(same.delta.interval, 0)
        tallies["Mann-Whitney"].add((0, 1) if same.p >= ALPHA else (2, 2), 0)
    return tallies, doubted
