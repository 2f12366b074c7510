"""Difference between two runs of the same trials: of a quantile, or of the share lost.

Each run has one series per trial. Packets are redrawn in blocks within their trial. The blocks are
the longer the more neighbours agree (Politis and White 2004, Econometric Reviews 23:53). Where
there are repeats, trials are blocks, too: they differ by more than their packets tell, so the
interval is at least as wide as Student's interval of the trials' own values (Welch 1947, Biometrika
34:28).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from delaylab.analysis.statistics.effects import Effect
from delaylab.analysis.statistics.quantiles import (
    RESAMPLED,
    Floats,
    block_length,
    last_axis_quantiles,
    resample,
    spread,
)
from delaylab.analysis.statistics.shares import wilson

# Level of the intervals, by which verdicts are given. A comparison has a hundred lines or more, so
# it asks for more than the 95 % of a single effect.
CERTAIN = 0.99
REDRAWS = 1000
Z = 2.575829


def quantile_differences(
    before: Sequence[Floats], after: Sequence[Floats], qs: tuple[float, ...], seed: int = 1
) -> list[Effect]:
    """Return the quantiles of `after` minus those of `before`; all trials of a run are pooled."""
    whole = [np.concatenate(run) for run in (before, after)]
    values = [last_axis_quantiles(run, qs) for run in whole]
    kept = [_thinned(run) for run in (before, after)]
    length = max(block(trial) for run in kept for trial in run)
    redrawn = [
        last_axis_quantiles(_redrawn(run, seed + index, length), qs)
        for index, run in enumerate(kept)
    ]
    blocks = min(sum(len(trial) for trial in run) // length for run in kept)
    wider = student(blocks - 1) / Z
    alone = [
        np.stack([last_axis_quantiles(trial, qs) for trial in run], axis=1)
        for run in (before, after)
    ]
    tail = (1 - CERTAIN) / 2
    found = []
    for index in range(len(qs)):
        value = float(values[1][index] - values[0][index])
        ends = np.quantile(redrawn[1][index] - redrawn[0][index], (tail, 1 - tail))
        low, high = (value + wider * (float(end) - value) for end in ends)
        among = between_trials(alone[0][index], alone[1][index])
        found.append(Effect(value, _widest(value, (low, high), among)))
    return found


def share_difference(before: Sequence[Floats], after: Sequence[Floats]) -> Effect:
    """Return the mean of `after` minus that of `before`; each series is of 0 and 1, one a packet.

    The interval is Newcombe's (1998, Statistics in Medicine 17:873), where neighbours with one fate
    count as less than two packets.
    """
    shares, ends = [], []
    for run in (before, after):
        whole = np.concatenate(run)
        share = float(whole.mean())
        shares.append(share)
        ends.append(wilson(share, len(whole) * _independent(run), Z))
    value = shares[1] - shares[0]
    low = value - math.hypot(shares[1] - ends[1][0], ends[0][1] - shares[0])
    high = value + math.hypot(ends[1][1] - shares[1], shares[0] - ends[0][0])
    alone = [np.array([trial.mean() for trial in run]) for run in (before, after)]
    return Effect(value, _widest(value, (low, high), between_trials(*alone)))


def between_trials(before: Floats, after: Floats) -> float:
    """Return half the width of Student's interval of the difference of the trials' means.

    It is 0 if no run has a repeat: then nothing tells by how much trials differ. A run without
    repeats is taken to vary as the other does.
    """
    repeated = [run for run in (before, after) if len(run) > 1]
    if not repeated:
        return 0.0
    if len(repeated) == 1:
        (known,) = repeated
        error = float(known.var(ddof=1)) * (1 / len(before) + 1 / len(after))
        return student(len(known) - 1) * math.sqrt(error)
    errors = [float(run.var(ddof=1)) / len(run) for run in repeated]
    if sum(errors) == 0:
        return 0.0
    parts = (e * e / (len(run) - 1) for e, run in zip(errors, repeated, strict=True))
    freedom = sum(errors) ** 2 / sum(parts)
    return student(math.floor(freedom)) * math.sqrt(sum(errors))


@cache
def student(freedom: int) -> float:
    """Return the distance from the mean, in standard errors, that `CERTAIN` asks for."""
    from scipy.stats import t  # noqa: PLC0415  takes a second to load, and only repeats need it

    return float(t.ppf((1 + CERTAIN) / 2, max(1, freedom)))


def _widest(value: float, drawn: tuple[float, float], among: float) -> tuple[float, float]:
    return min(value, drawn[0], value - among), max(value, drawn[1], value + among)


def block(values: Floats) -> int:
    """Return the length of blocks for a series, from its neighbours' rank correlation.

    It is at least `block_length`, and short enough that a fifth of the series is one block.
    """
    n = len(values)
    ranks = np.argsort(np.argsort(values, kind="stable")).astype(np.float64)
    if n < 10:
        return block_length(n)
    kept = min(max(float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]), 0.0), 0.99)
    best = 1.5 ** (1 / 3) * (2 * kept / (1 - kept * kept)) ** (2 / 3) * n ** (1 / 3)
    return int(max(block_length(n), min(math.ceil(best), n // 5)))


def _thinned(run: Sequence[Floats]) -> list[Floats]:
    """Return at most `RESAMPLED` packets of a run, spread over all of its trials."""
    most = max(1, RESAMPLED // len(run))
    return [trial[spread(len(trial), most)] for trial in run]


def _redrawn(run: Sequence[Floats], seed: int, length: int) -> Floats:
    parts = [
        resample(trial, REDRAWS, seed + 2 * index, min(length, len(trial)))
        for index, trial in enumerate(run)
    ]
    return np.concatenate(parts, axis=1)


def _independent(run: Sequence[Floats]) -> float:
    """Return the share of packets that count as independent, by neighbours' autocorrelation."""
    mean = float(np.concatenate(run).mean())
    variance = mean * (1 - mean)
    if variance == 0:
        return 1.0
    pairs = np.concatenate([(trial[1:] - mean) * (trial[:-1] - mean) for trial in run])
    kept = min(max(float(pairs.mean()) / variance, 0.0), 0.999) if len(pairs) else 0.0
    return (1 - kept) / (1 + kept)
