"""The memory of a series is that which was put in; its variance is what the memory says."""

from __future__ import annotations

import numpy as np
import pytest
from tools.coverage.long import LongTrial
from tools.coverage.processes import autoregressive

from delaylab_study.analysis.statistics.memory import (
    STRETCH,
    autocorrelation_times,
    quantile_times,
    ranks,
)
from delaylab_study.analysis.statistics.runs import Floats, ranked


def series(seed: int, count: int, n: int, kept: float) -> Floats:
    """Return Gaussian series of variance 1 whose neighbours have this autocorrelation."""
    shocks = np.random.default_rng(seed).normal(0, np.sqrt(1 - kept**2), (count, n + 200))
    return autoregressive(shocks, kept)


@pytest.mark.parametrize(("kept", "time"), [(0.0, 1.0), (0.6, 4.0), (0.9, 19.0)])
def test_the_time_of_an_autoregressive_series_is_that_of_its_formula(
    kept: float, time: float
) -> None:
    found = autocorrelation_times([series(1, 20, 20_000, kept)])
    assert np.median(found) == pytest.approx(time, rel=0.05)


def test_a_short_series_does_not_look_independent() -> None:
    found = autocorrelation_times([series(2, 400, 100, 0.9)])
    assert 10 < np.median(found) < 25
    assert np.quantile(found, 0.05) > 5


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_the_share_below_a_quantile_varies_as_its_time_says(q: float) -> None:
    drawn = series(3, 4000, 500, 0.8)
    truth = float(np.quantile(drawn, q))
    variance = float((drawn <= truth).mean(axis=1).var())
    found = [float(quantile_times([ranked(each)], (q,))[0]) for each in drawn[:200]]
    assert np.median(found) == pytest.approx(500 * variance / (q * (1 - q)), rel=0.2)


def test_bursts_that_only_the_tail_has_are_seen_there() -> None:
    random = np.random.default_rng(4)
    delays = random.lognormal(0, 0.3, 4000)
    bursts = np.repeat(random.random(200) < 0.05, 20)
    middle, tail = quantile_times([ranked(delays + 100 * bursts)], (0.5, 0.97))
    assert tail > 8
    assert tail > 2 * middle


def test_trials_that_differ_are_no_memory() -> None:
    random = np.random.default_rng(5)
    trials = [level + random.normal(size=(1, 300)) for level in (0, 100, 200)]
    assert autocorrelation_times(trials)[0] < 1.5


def test_memory_is_never_shorter_than_that_of_independent_packets() -> None:
    alternating = np.tile([1.0, 2.0], 500)[None, :]
    constant = np.ones((1, 50))
    short = np.array([[3.0]])
    for rows in (alternating, constant, short):
        assert autocorrelation_times([rows]) == pytest.approx(1)


def test_a_series_too_long_to_read_whole_has_the_same_time() -> None:
    found = autocorrelation_times([series(6, 1, 5 * STRETCH // 2, 0.6)])
    assert found == pytest.approx(4, rel=0.1)


def test_equal_values_share_their_rank() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def resampled(flags: Floats, block: int) -> float:
    """Return the variance of a share by the bootstrap of circular blocks."""
    n, random = len(flags), np.random.default_rng(8)
    sums = np.cumsum(np.concatenate([[0.0], flags, flags[:block]]))
    starts = random.integers(0, n, (2000, n // block))
    return float(((sums[starts + block] - sums[starts]).sum(axis=1) / n).var())


@pytest.mark.parametrize("memory", [20, 300, 2000])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_time_is_that_of_a_bootstrap_of_long_blocks(memory: int, q: float) -> None:
    drawn = LongTrial(memory, 400_000).draw(np.random.default_rng(9))
    variance = resampled((drawn <= np.quantile(drawn, q)).astype(np.float64), 10 * memory)
    time = float(quantile_times([ranked(drawn)], (q,))[0])
    assert 0.6 < time * q * (1 - q) / len(drawn) / variance < 2


def test_the_time_does_not_jump_where_batches_begin() -> None:
    drawn = series(10, 30, STRETCH + 1, 0.9)
    one, other = (np.median(autocorrelation_times([part])) for part in (drawn[:, :-1], drawn))
    assert other == pytest.approx(one, rel=0.15)


def test_a_drift_over_the_whole_trial_leaves_few_independent_packets() -> None:
    drift = np.linspace(0, 3, 100_000) + np.random.default_rng(12).normal(size=100_000)
    assert len(drift) / quantile_times([ranked(drift)], (0.5,))[0] < 10
