"""Difference between two runs of the same trials: of the share lost, or of each trial's value.

Each run has one series per trial. Intervals allow for the memory of its packets, and where there
are repeats, for what trials differ by themselves, as all intervals do (`quantiles`, `effects`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.memory import autocorrelation_times
from delaylab_study.analysis.statistics.runs import LEVEL, Floats, Interval, Series, as_run, whole
from delaylab_study.analysis.statistics.student import distance, error_of_difference, half_width
from delaylab_study.analysis.statistics.wilson import wilson

# Level of the intervals, by which verdicts are given. A comparison has a hundred lines or more, so
# it asks for more than the 95 % of a single effect.
CERTAIN = 0.99


def share_difference(
    before: Sequence[Floats], after: Sequence[Floats], *, paired: bool = False
) -> Effect:
    """Return the mean of `after` minus that of `before`; each series is of 0 and 1, one a packet.

    The interval is Newcombe's (1998, Statistics in Medicine 17:873), where neighbours with one fate
    count as less than two packets. It is at least Welch's of the trials' means; with `paired`,
    where the trials of both sides stand in the same order, Student's of their differences.
    """
    (ours, mine), (theirs, its) = (share_of_packets(run, CERTAIN) for run in (after, before))
    value = ours - theirs
    low = math.hypot(ours - mine[0], its[1] - theirs)
    high = math.hypot(mine[1] - ours, theirs - its[0])
    theirs_of, ours_of = (np.array([trial.mean() for trial in run]) for run in (after, before))
    least = among_trials(ours_of, theirs_of, paired=paired)
    return Effect(value, (value - max(low, least), value + max(high, least)))


def among_trials(before: Floats, after: Floats, *, paired: bool) -> float:
    """Return half of the interval of a difference of means, given each trial's value.

    It is Student's of the pairs' differences with `paired`, else Welch's; 0 if nothing tells by how
    much trials differ.
    """
    if paired:
        return half_width(after - before, CERTAIN)
    error, freedom = error_of_difference(after, before)
    return distance(freedom, CERTAIN) * error


def share_of_packets(series: Series, level: float = LEVEL) -> tuple[float, Interval]:
    """Return the share of packets with 1 among those with 0 or 1, and its interval.

    It is Wilson's, for as many packets as are independent. What trials differ by is not in it.
    """
    run = as_run(series)
    share = float(whole(run).mean())
    time = float(autocorrelation_times([trial[None, :] for trial in run])[0])
    effective = sum(map(len, run)) / time
    return share, wilson(share, effective, distance(effective - 1, level))
