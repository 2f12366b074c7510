"""Quantiles of delays, with intervals that allow for autocorrelation and for differing trials.

An interval lies between two ranks (Woodruff 1952, JASA 47:635): those at which the share of packets
below differs from q by what chance allows so many independent packets as the run is worth
(`memory`). Where trials repeat, it is at least Student's interval of the trials' own quantiles. It
ends at 0, since no delay is negative, or at the smallest delay if two clocks gave a negative one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from delaylab_study.analysis.statistics.memory import quantile_times
from delaylab_study.analysis.statistics.needs import BEYOND, FEWEST, Needs, needed, needs
from delaylab_study.analysis.statistics.runs import (
    LEVEL,
    Floats,
    Interval,
    Numbers,
    Series,
    as_run,
    ranked,
    rising_quantiles,
    spread,
    whole,
)
from delaylab_study.analysis.statistics.student import distance, half_width

__all__ = [
    "BEYOND",
    "FEWEST",
    "LEVEL",
    "Floats",
    "Interval",
    "Located",
    "Quantile",
    "Summary",
    "Tail",
    "last_axis_quantiles",
    "locate",
    "needed",
    "refused",
    "spread",
    "summarise",
    "summarise_all",
]

Tail = Literal["p99", "p90"]


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile in µs with its 95 % interval, or None and the reason.

    A median of too few packets has a value, and no interval.

    `at_most` is the upper limit in µs of a quantile that was refused for its bound, `needs` are the
    packets that one takes which too few carry.
    """

    value: float | None
    interval: Interval | None
    why: str = ""
    at_most: float | None = None
    needs: Needs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of the delays of n packets, in µs.

    `n_effective` is the number of independent packets with which the median would vary as much.
    """

    n: int
    median: Quantile
    p90: Quantile
    p99: Quantile
    p999: Quantile
    max: float | None
    n_effective: float = 0.0

    @property
    def quantiles(self) -> dict[str, Quantile]:
        """Return the quantiles by name."""
        return {"median": self.median, "p90": self.p90, "p99": self.p99, "p999": self.p999}

    def tail(self, name: Tail) -> Quantile:
        """Return the upper quantile of that name."""
        return self.p99 if name == "p99" else self.p90


@dataclass(frozen=True, slots=True)
class Located:
    """A quantile of a run in its unit; `interval` is None if the packets do not carry one.

    The interval is that of the packets alone. `trials` are the quantiles of the trials.
    """

    q: float
    value: float
    interval: Interval | None
    effective: float
    trials: Floats

    def among_trials(self, level: float = LEVEL) -> Interval | None:
        """Return the interval, at least as wide as Student's of the trials' own quantiles."""
        if self.interval is None:
            return None
        half = half_width(self.trials, level)
        low, high = self.interval
        return min(low, self.value - half), max(high, self.value + half)


LOOKED_AT = 100
"""The number of a row's values that are compared first: few rows that are not in order pass."""
_QUANTILES = (0.5, 0.9, 0.99, 0.999)
WORTH_THREADS = 1_000_000
"""Number of delays from which on several series are summarised at the same time."""


def summarise(delay_ns: Numbers | Sequence[Numbers], every_s: float | None = None) -> Summary:
    """Summarise delays given in ns, in the order of sending: a series, or one for each trial.

    `every_s` is the time between two packets, None if it is not known.
    """
    run = [trial / 1000 for trial in as_run(delay_ns)]
    n = sum(map(len, run))
    if n == 0:
        none = Quantile(None, None, "no packet was seen at both points")
        return Summary(n=0, median=none, p90=none, p99=none, p999=none, max=None)
    located = locate(run, _QUANTILES)
    smallest, largest = min(map(np.min, run)), max(float(trial.max()) for trial in run)
    # No delay is negative, but stamps of two clocks may give one.
    least = min(0.0, float(smallest))
    median, p90, p99, p999 = (_quantile(found, n, least, every_s) for found in located)
    return Summary(
        n=n,
        median=median,
        p90=p90,
        p99=p99,
        p999=p999,
        max=largest,
        n_effective=located[0].effective,
    )


def summarise_all(
    delays_ns: Sequence[Sequence[Numbers]], every_s: float | None = None
) -> list[Summary]:
    """Summarise several runs of the same packets, as `summarise` does.

    Large ones take a thread for each CPU: numpy sorts without the interpreter's lock.
    """
    if sum(len(trial) for run in delays_ns for trial in run) < WORTH_THREADS:
        return [summarise(run, every_s) for run in delays_ns]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(partial(summarise, every_s=every_s), delays_ns))


def _quantile(located: Located, n: int, least: float, every_s: float | None) -> Quantile:
    """Return a quantile of delays; its interval ends at the least possible delay."""
    interval = located.among_trials()
    if interval is not None:
        return Quantile(located.value, (max(least, interval[0]), interval[1]))
    if located.q == 0.5:
        return Quantile(located.value, None, refusal(located, n))
    takes = needs(located.q, n, located.effective, every_s)
    return Quantile(None, None, refusal(located, n), needs=takes)


def refusal(located: Located, n: int) -> str:
    """Return the reason why a quantile of n packets is not given."""
    if located.q == 0.5:
        return f"an interval of the median needs {FEWEST} packets; there are {n}"
    name = f"p{100 * located.q:g}"
    if located.effective >= 0.95 * n:
        return f"{name} needs {needed(located.q)} independent packets; there are {n}"
    due = needs(located.q, n, located.effective, None)
    return (
        f"{name} needs {needed(located.q)} independent packets; there are {n}, worth "
        f"{located.effective:.0f}: about {due.packets} would do"
    )


def refused(summary: Summary, bound_us: float) -> Summary:
    """Return a summary without the quantiles that are smaller than the bound of their error."""
    found = (summary.median, summary.p90, summary.p99, summary.p999)
    median, p90, p99, p999 = (_bounded(quantile, bound_us) for quantile in found)
    return Summary(
        n=summary.n,
        median=median,
        p90=p90,
        p99=p99,
        p999=p999,
        max=summary.max,
        n_effective=summary.n_effective,
    )


def _bounded(quantile: Quantile, bound_us: float) -> Quantile:
    if quantile.value is None or abs(quantile.value) >= bound_us:
        return quantile
    why = f"smaller than what aligning two clocks leaves open (± {bound_us:.1f} µs)"
    return Quantile(None, None, why, quantile.value + bound_us)


def locate(series: Series, qs: Sequence[float], level: float = LEVEL) -> list[Located]:
    """Return quantiles of a run that has packets, with the intervals that its packets carry."""
    run = [ranked(trial) for trial in as_run(series)]
    # One trial is in order already. "Stable" merges several that are.
    ordered = whole([trial.rising for trial in run])
    if len(run) > 1:
        ordered.sort(kind="stable")
    n = len(ordered)
    effective = n / quantile_times(run, qs)
    values = rising_quantiles(ordered, qs)
    trials = np.stack([trial.quantiles(qs) for trial in run], axis=1)
    return [
        Located(
            q,
            float(values[i]),
            _between_ranks(ordered, q, effective[i], level),
            float(effective[i]),
            trials[i],
        )
        for i, q in enumerate(qs)
    ]


def _between_ranks(ordered: Floats, q: float, effective: float, level: float) -> Interval | None:
    """Return Woodruff's interval, or None where the packets do not carry it.

    A median's interval is at most as wide as the data. That of another quantile has its ends within
    them, and as many independent packets beyond as are `needed`.
    """
    n = len(ordered)
    if (n if q == 0.5 else effective) < needed(q) * (1 - 1e-9):
        return None
    half = distance(effective - 1, level) * math.sqrt(q * (1 - q) / effective)
    low, high = n * (q - half) - 0.5, n * (q + half) - 0.5
    if (low < 0 or high > n - 1) and q != 0.5:
        return None
    return _at(ordered, max(low, 0)), _at(ordered, min(high, n - 1))


def _at(ordered: Floats, place: float) -> float:
    """Return the value at a place between two neighbours."""
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def last_axis_medians(values: Floats) -> Floats:
    """Return what `np.median(values, axis=-1)` does; rows that are one row broadcast cost one."""
    rows = _distinct(values)
    if _in_order(rows):
        n = rows.shape[-1]
        found = (rows[..., (n - 1) // 2] + rows[..., n // 2]) / 2
    else:
        found = np.median(rows, axis=-1)
    return np.broadcast_to(found, values.shape[:-1])


def _distinct(values: Floats) -> Floats:
    """Return the first row alone if all rows are one row that was broadcast."""
    return values[:1] if values.ndim > 1 and values.strides[0] == 0 else values


def _in_order(rows: Floats) -> bool:
    """Return True if each row is in rising order.

    Statistics of the same rows are computed again and again, and sorting them would take most of
    the time. The start of the first row is looked at first: it tells most rows that are not.
    """
    if rows.ndim != 2 or rows.shape[-1] < 2:
        return False
    parts = (rows[0, :LOOKED_AT], rows[0], rows)
    return all(bool((part[..., 1:] >= part[..., :-1]).all()) for part in parts)


def last_axis_quantiles(values: Floats, qs: Sequence[float]) -> Floats:
    """Return what `np.quantile(values, qs, axis=-1)` does, by sorting, which is many times faster.

    numpy sorts with the CPU's vector instructions, and partitions without them.
    """
    rows = _distinct(values)
    ordered = rows if _in_order(rows) else np.sort(rows, axis=-1)
    return np.broadcast_to(rising_quantiles(ordered, qs), (len(qs), *values.shape[:-1]))
