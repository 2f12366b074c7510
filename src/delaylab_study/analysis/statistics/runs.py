"""Series of delays as they were measured: one for each trial, in the order of sending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

NumberT = TypeVar("NumberT", np.float64, np.int64)
Floats = NDArray[np.float64]
Numbers = NDArray[np.float64 | np.int64]
Interval = tuple[float, float]
Run = Sequence[Floats]
"""The trials of one combination of levels: one series each, which shares no queue with another."""
Series = Floats | Run
"""A run, or the one series of a run of one trial."""


class RunInBlocks(list[Floats]):
    """A run whose trials ran on several machines: `blocks` has the block of each trial.

    The trials of one block ran on one machine, so what the machine does is the same in all of them.
    """

    def __init__(self, series: Sequence[Floats], blocks: Sequence[int]) -> None:
        kept = [(trial, block) for trial, block in zip(series, blocks, strict=True) if len(trial)]
        super().__init__(trial for trial, _ in kept)
        self.blocks = tuple(block for _, block in kept)

    def of(self, block: int) -> Floats:
        """Return the packets of a block's trial."""
        return self[self.blocks.index(block)]


LEVEL = 0.95
"""Confidence level of intervals that readers see."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A trial's values in the order of sending, the same in rising order, and the rank of each.

    Ranks count from 1; equal values are at the middle of theirs.
    """

    values: Floats
    rising: Floats
    ranks: Floats

    def quantiles(self, qs: Sequence[float]) -> Floats:
        """Return what `np.quantile(values, qs)` does."""
        return rising_quantiles(self.rising, qs)


def ranked(values: Floats) -> Ranked:
    """Return a trial's values with their ranks, for which they are sorted once."""
    order = np.argsort(values)
    rising = values[order]
    ranks = np.empty(len(values))
    first = np.concatenate([[True], rising[1:] != rising[:-1]])
    if first.all():
        ranks[order] = np.arange(1.0, len(values) + 1)
    else:
        starts = np.flatnonzero(first)
        ties = np.diff(starts, append=len(values))
        ranks[order] = np.repeat(starts + (ties + 1) / 2, ties)
    return Ranked(values, rising, ranks)


def rising_quantiles(ordered: Floats, qs: Sequence[float]) -> Floats:
    """Return what `np.quantile(ordered, qs, axis=-1)` does, of rows that are in rising order."""
    n = ordered.shape[-1]
    found = []
    for q in qs:
        place = q * (n - 1)
        below = int(place)
        low, high = ordered[..., below], ordered[..., min(below + 1, n - 1)]
        share = place - below
        step = high - low
        found.append(low + step * share if share < 0.5 else high - step * (1 - share))
    return np.stack(found)


def as_run(series: Numbers | Sequence[Numbers]) -> list[Floats]:
    """Return the trials of a run that have packets; a plain series is a run of one trial."""
    trials = [series] if isinstance(series, np.ndarray) else series
    return [np.asarray(trial, dtype=np.float64) for trial in trials if len(trial)]


def whole(run: Run) -> Floats:
    """Return all packets of a run."""
    return np.concatenate(run) if len(run) else np.zeros(0)


@lru_cache(maxsize=256)
def spread(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` of n positions in order: a random one of each of equal stretches.

    Every k-th position would be worse: delays follow the timer ticks, and at a regular interval
    every k-th packet can meet the same tick. The same n gives the same positions, which nobody may
    change.
    """
    if n <= most:
        found = np.arange(n, dtype=np.intp)
    else:
        edges = np.linspace(0, n, most + 1).astype(np.intp)
        found = np.random.default_rng(n).integers(edges[:-1], edges[1:]).astype(np.intp)
    found.setflags(write=False)
    return found


def thinned(values: Floats, most: int) -> Floats:
    """Return at most `most` of a series' values in their order (`spread`)."""
    return values[spread(len(values), most)]


def by_trial(values: NDArray[NumberT], trials: NDArray[np.intp]) -> list[NDArray[NumberT]]:
    """Return the values of each trial, given the number of each value's trial in rising order."""
    return np.split(values, np.flatnonzero(np.diff(trials)) + 1) if len(values) else []
