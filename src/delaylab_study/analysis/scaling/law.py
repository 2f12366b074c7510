"""Laws of the run time T(N) of N nodes, fitted by least squares.

Both laws are fixed in advance, and have two parameters with a meaning:

- *line*: T(N) = a + b × N. `a` is what all nodes do at the same time, or wait for; `b` is what each
  node adds, because all share something that only one can use at a time. Neither is negative.
- *CPUs*: T(N) = T1 × max(1, N / C). C nodes run side by side as fast as one alone, and more of them
  take turns. C is 1 or more.

The squares are of residuals in relation to the measured times, because times that are longer vary
more. A fit is linear in the times once it is known which bounds hold and which numbers of nodes lie
on which side of C. So it is repeated for each block of trials, with those taken from all trials
together, and an interval is Student's between the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from delaylab_study.analysis.statistics.effects import Effect, mean_of_few
from delaylab_study.analysis.statistics.runs import Floats

FEWEST = 3
"""Smallest number of different numbers of nodes: a law of two parameters fits any two."""
WITH_CORNER = 4
"""Smallest number of them for the law of CPUs, whose corner fits nearly any three times."""
POOR = 0.10
"""Largest residual of a law that is used, in relation to the measured time."""
BLOCKS = 2
"""Smallest number of blocks that an interval is given for."""
CLEARLY = 0.5
"""Largest sum of squares of the law of CPUs, in relation to the line's, with which it is taken."""
Name = Literal["line", "cpus"]


@dataclass(frozen=True, slots=True)
class Law:
    """A fitted law. `line`: `fixed_s` is a, `each_s` is b. `cpus`: they are T1 and T1 / C.

    `fixed_s` of the law of CPUs is None if every number of nodes is larger than C, and `each_s` if
    none is.
    """

    name: Name
    fixed_s: float | None
    each_s: float | None

    @property
    def cpus(self) -> float | None:
        """Return C of the law of CPUs; None if it is not known."""
        if self.name != "cpus" or not self.fixed_s or not self.each_s:
            return None
        return self.fixed_s / self.each_s

    def at(self, nodes: Floats) -> Floats:
        """Return the run times of these numbers of nodes, in s."""
        fixed, each = self.fixed_s or 0.0, self.each_s or 0.0
        if self.name == "line":
            return np.asarray(fixed + each * nodes)
        return np.asarray(np.maximum(fixed, each * nodes))


@dataclass(frozen=True, slots=True)
class Scaling:
    """The run times over the number of nodes, their law, and what it predicts.

    `blocks_s` has a row for each block of trials, and a column for each number of nodes. `refused`
    says why there is no prediction; it is "" if there is one.

    `alone_s` is the time of one node by itself, T(1); `divided_s` is T(N) / N of the largest number
    of nodes. Each is None where there is no prediction, and `alone_s` also if one node was not
    measured. Their 95 % intervals are between blocks.
    """

    nodes: tuple[int, ...]
    blocks_s: Floats
    law: Law | None
    refused: str
    alone_s: Effect | None = None
    divided_s: Effect | None = None

    @property
    def times_s(self) -> Floats:
        """Return the mean time for each number of nodes, over all blocks."""
        return np.asarray(self.blocks_s.mean(axis=0))

    @property
    def residuals(self) -> list[float]:
        """Return measured less law, in relation to the measured time; none without a law."""
        if self.law is None:
            return []
        return [float(each) for each in 1 - self.law.at(np.array(self.nodes)) / self.times_s]


@dataclass(frozen=True, slots=True)
class _Fit:
    """A law with the linear map that makes its parameters of the times (`rows` × numbers of nodes).

    `terms` has the law's factors of these parameters, one row for each number of nodes.
    """

    law: Law
    map: Floats
    terms: Floats
    squares: float


def scaling(nodes: Sequence[int], times_s: Floats) -> Scaling:
    """Return the law of run times, with one row for each block and one column for each of `nodes`.

    Numbers of nodes rise. Times are in s and more than 0. The prediction is refused if the law does
    not fit.
    """
    counts = tuple(nodes)
    if len(counts) < FEWEST:
        what = f"there are {len(counts)} numbers of nodes, and a law needs {FEWEST}"
        return Scaling(counts, times_s, None, what)
    found = _fit(np.array(counts, dtype=np.float64), times_s.mean(axis=0))
    fitted = Scaling(counts, times_s, found.law, "")
    refused = _why_refused(fitted)
    if refused:
        return replace(fitted, refused=refused)
    predicted = times_s @ (found.terms @ found.map).T
    return replace(
        fitted,
        alone_s=_time(predicted[:, 0]) if counts[0] == 1 else None,
        divided_s=_time(predicted[:, -1] / counts[-1]),
    )


def _time(of_blocks_s: Floats) -> Effect:
    """Return the mean time of blocks, with its interval cut at 0."""
    found = mean_of_few(of_blocks_s)
    return Effect(found.value, (max(0.0, found.interval[0]), found.interval[1]))


def _why_refused(fitted: Scaling) -> str:
    largest, blocks = max(map(abs, fitted.residuals)), len(fitted.blocks_s)
    if largest > POOR:
        poor = f"poor fit, a residual is {100 * largest:.0f} % and may be {100 * POOR:.0f} %"
        few = len(fitted.nodes) < WITH_CORNER
        more = f"; the law of CPUs needs {WITH_CORNER} numbers of nodes"
        return f"{poor}{more if few else ''}"
    if blocks < BLOCKS:
        return f"there is {blocks} block of trials, and an interval needs {BLOCKS} (`repeat`)"
    return ""


def _fit(nodes: Floats, means: Floats) -> _Fit:
    """Return the line, or the law of CPUs if that may be taken and fits clearly better."""
    line = _line(nodes, means)
    if len(nodes) < WITH_CORNER:
        return line
    cpus = min(_cpus(nodes, means), key=lambda fit: fit.squares)
    return cpus if cpus.squares < CLEARLY * line.squares else line


def _line(nodes: Floats, means: Floats) -> _Fit:
    both = np.column_stack([np.ones(len(nodes)), nodes])
    whole = _least_squares(both, means)
    fixed, each = whole @ means
    if fixed < 0:
        whole = np.vstack([np.zeros(len(nodes)), _least_squares(both[:, 1:], means)])
    elif each < 0:
        whole = np.vstack([_least_squares(both[:, :1], means), np.zeros(len(nodes))])
    fixed, each = whole @ means
    return _made(Law("line", float(fixed), float(each)), whole, both, nodes, means)


def _cpus(nodes: Floats, means: Floats) -> Iterator[_Fit]:
    """Yield the law of CPUs with C between any two numbers of nodes, beyond all, and at each."""
    for flat in range(len(nodes) + 1):
        below = (np.arange(len(nodes)) < flat).astype(np.float64)
        terms = np.column_stack([below, nodes * (1 - below)])
        used = [column for column, some in ((0, flat > 0), (1, flat < len(nodes))) if some]
        whole = np.zeros((2, len(nodes)))
        whole[used] = _least_squares(terms[:, used], means)
        fixed, each = (float(value) for value in whole @ means)
        law = Law("cpus", fixed if 0 in used else None, each if 1 in used else None)
        # C is 1 or more, and lies where it was taken to lie; else the best one is at a number.
        if law.cpus is None or max(1.0, nodes[flat - 1]) <= law.cpus <= nodes[flat]:
            yield _made(law, whole, terms, nodes, means)
    for cpus in nodes:
        shape = np.maximum(1, nodes / cpus)[:, None]
        whole = _least_squares(shape, means)
        fixed = float((whole @ means)[0])
        yield _made(Law("cpus", fixed, fixed / float(cpus)), whole, shape, nodes, means)


def _least_squares(terms: Floats, means: Floats) -> Floats:
    """Return the map from times to parameters that makes the relative residuals least."""
    weighted = terms / means[:, None]
    inverse: Floats = np.linalg.pinv(weighted) / means
    return inverse


def _made(law: Law, of_times: Floats, terms: Floats, nodes: Floats, means: Floats) -> _Fit:
    squares = float((((means - law.at(nodes)) / means) ** 2).sum())
    return _Fit(law, of_times, terms, squares)
