"""Trials of several machines: what a machine does to all of them is no noise of a comparison."""

from __future__ import annotations

import numpy as np

from delaylab_study.analysis.statistics.effects import Effect, estimate, of_medians
from delaylab_study.analysis.statistics.runs import Floats, RunInBlocks

BLOCKS = 6
RATIO = 1.2
MACHINES = (1.0, 3.0)
"""The delays of each machine, as a multiple of the first one's."""
OF = of_medians(lambda ours, theirs: ours / theirs)


def run(random: np.random.Generator, slower: float, drift: list[float]) -> RunInBlocks:
    """A trial in each block; blocks of even number are on the second machine."""
    series: list[Floats] = [
        slower * MACHINES[block % 2] * drift[block] * random.lognormal(3, 0.1, 300)
        for block in range(BLOCKS)
    ]
    return RunInBlocks(series, range(BLOCKS))


def drawn(seed: int, *, labelled: bool = True) -> Effect:
    random = np.random.default_rng(seed)
    drift = [float(random.lognormal(0, 0.05)) for _ in range(BLOCKS)]
    both = [run(random, RATIO, drift), run(random, 1.0, drift)]
    return estimate(both if labelled else [list(each) for each in both], OF)


def width(effect: Effect) -> float:
    low, high = effect.interval
    return high - low


def test_a_comparison_within_blocks_is_known_better() -> None:
    assert width(drawn(1)) < width(drawn(1, labelled=False)) / 3


def test_its_intervals_cover_the_truth() -> None:
    covered = sum(
        low <= RATIO <= high for low, high in (drawn(seed).interval for seed in range(200))
    )
    assert covered >= 180


def test_trials_without_packets_and_blocks_of_one_side_are_left_out() -> None:
    random = np.random.default_rng(1)
    few = RunInBlocks([random.lognormal(3, 0.1, 300), np.zeros(0)], [1, 2])
    assert (len(few), few.blocks) == (1, (1,))
    other = RunInBlocks([random.lognormal(3, 0.1, 300) for _ in range(3)], [4, 5, 6])
    # No block has both, so trials count as before.
    assert estimate([few, other], OF) == estimate([list(few), list(other)], OF)
