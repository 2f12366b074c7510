"""Fairness of a machine to those that do the same work at once.

A node's *share of its fair share* is its rate of work over the mean rate of all nodes: 1 is fair,
0.5 is half of what it should get. One figure for all is Jain's index (Jain, Chiu and Hawe 1984, "A
Quantitative Measure of Fairness", DEC-TR-301), another the largest share over the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from delaylab_study.analysis.statistics.effects import Effect, mean_of_few
from delaylab_study.analysis.statistics.quantiles import Floats, Interval

WITHIN = 0.10
"""Largest distance of a node's share from its fair share in work that is called fair."""
FairnessVerdict = Literal["fair", "not fair", "open"]


@dataclass(frozen=True, slots=True)
class Got:
    """Work of a node in one round: its rate, and the CPU time that it took, in s."""

    rate: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class NodeShare:
    """The share of a node of its fair share, and its two parts, of which it is the product.

    `cpu` is its CPU time over the mean of all nodes, `speed` its work for each second of CPU time
    over the mean of all.
    """

    of_fair: Effect
    cpu: float
    speed: float


@dataclass(frozen=True, slots=True)
class Fairness:
    """Fairness in one work, by node.

    `jain` is 1 if all shares are equal, and 1/N if one of N nodes has all; it is that of the mean
    shares, and `jain_of_rounds` has one for each round. `spread` is the largest share over the
    smallest.
    """

    shares: dict[str, NodeShare]
    jain: float
    spread: float
    verdict: FairnessVerdict
    jain_of_rounds: tuple[float, ...] = ()

    @property
    def worst(self) -> str:
        """Return the node with the smallest share."""
        return min(self.shares, key=lambda node: self.shares[node].of_fair.value)


def fairness(rounds: Sequence[Mapping[str, Got]]) -> Fairness:
    """Return the fairness of rounds. Intervals of a single round are infinite.

    Work is *fair* if every share's 95 % interval, which is between rounds, lies within `WITHIN` of
    1. It is *not fair* if one lies wholly outside, and else *open*.
    """
    nodes = list(rounds[0])
    rates = np.array([[each[node].rate for node in nodes] for each in rounds])
    cpu = np.array([[each[node].cpu_s for node in nodes] for each in rounds]).mean(axis=0)
    relative = rates / rates.mean(axis=1, keepdims=True)
    mean = relative.mean(axis=0)
    had = cpu / cpu.mean() if cpu.all() else np.ones(len(nodes))
    shares = {
        node: NodeShare(
            mean_of_few(relative[:, at], (0.0, math.inf)), float(had[at]), float(mean[at] / had[at])
        )
        for at, node in enumerate(nodes)
    }
    found = [share.of_fair.interval for share in shares.values()]
    spread = float(mean.max() / mean.min()) if mean.min() > 0 else math.inf
    of_rounds = tuple(jain(each) for each in relative)
    return Fairness(shares, jain(mean), spread, _verdict(found), of_rounds)


def jain(shares: Floats | Sequence[float]) -> float:
    """Return Jain's index of shares: (sum of x)² / (n × sum of x²); 1 if all of them are 0."""
    got = np.asarray(shares, dtype=np.float64)
    squares = len(got) * float((got**2).sum())
    return float(got.sum()) ** 2 / squares if squares else 1.0


def _verdict(intervals: Sequence[Interval]) -> FairnessVerdict:
    low, high = 1 - WITHIN, 1 + WITHIN
    if any(last < low or first > high for first, last in intervals):
        return "not fair"
    if all(low <= first and last <= high for first, last in intervals):
        return "fair"
    return "open"
