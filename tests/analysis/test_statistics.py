"""Quantiles, their intervals, effects and outliers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.analysis.packets.outliers import outliers, robust_z
from delaylab.analysis.statistics import effects, quantiles
from delaylab.analysis.statistics.effects import estimate
from delaylab.analysis.statistics.quantiles import Floats, spread, summarise
from tests.synthetic import queue


def autocorrelated(seed: int, n: int) -> Floats:
    return queue(100, correlation=0.5)(np.random.default_rng(seed), n)


def test_a_summary_gives_the_order_statistics_in_microseconds() -> None:
    found = summarise(np.arange(1, 20_001) * 1000)
    assert (found.n, found.max) == (20_000, 20_000)
    assert found.median.value == pytest.approx(10_000.5)
    assert found.p99.value == pytest.approx(19_800, abs=1)
    assert found.p999.value == pytest.approx(19_980, abs=1)


def test_p999_is_refused_with_the_reason_where_n_does_not_carry_it() -> None:
    found = summarise(np.arange(1000))
    assert found.p999.value is None
    assert found.p999.why == "p99.9 needs 10000 packets, there are 1000"
    assert summarise(np.arange(10_000)).p999.value is not None


def test_no_packets_give_no_numbers() -> None:
    found = summarise(np.array([], dtype=np.int64))
    assert found.n == 0
    assert found.median.value is None
    assert found.median.why


@pytest.mark.parametrize("n", [500, 4000])
def test_intervals_cover_the_true_median_of_an_autocorrelated_series(n: int) -> None:
    # The median of the generator: mean_us * exp(0 - 0.5).
    truth = 100 * np.exp(-0.5)
    covered = 0
    for seed in range(100):
        low, high = quantiles.quantile_intervals(autocorrelated(seed, n), (0.5,), seed)[0]
        covered += low <= truth <= high
    assert 85 <= covered <= 100


def test_blocks_widen_the_interval_of_an_autocorrelated_series() -> None:
    series = autocorrelated(3, 2000)
    shuffled = np.random.default_rng(1).permutation(series)
    widths = [
        high - low
        for low, high in (quantiles.quantile_intervals(s, (0.5,))[0] for s in (series, shuffled))
    ]
    assert widths[0] > 1.2 * widths[1]


def test_both_ways_to_an_interval_agree_at_the_size_where_they_meet() -> None:
    series = autocorrelated(5, quantiles.RESAMPLED)
    redrawn = quantiles.quantile_intervals(series, (0.5, 0.9))
    series_longer = np.append(series, np.median(series))
    ranked = quantiles.quantile_intervals(series_longer, (0.5, 0.9))
    for one, other in zip(redrawn, ranked, strict=True):
        assert other[1] - other[0] == pytest.approx(one[1] - one[0], rel=0.35)
        assert np.mean(other) == pytest.approx(np.mean(one), rel=0.05)


def test_the_same_seed_gives_the_same_interval() -> None:
    series = autocorrelated(1, 300)
    first = quantiles.quantile_intervals(series, (0.5,), seed=7)
    assert first == quantiles.quantile_intervals(series, (0.5,), seed=7)
    assert first != quantiles.quantile_intervals(series, (0.5,), seed=8)


@pytest.mark.parametrize(("n", "length"), [(1, 1), (8, 2), (27, 3), (200, 6), (1000, 10)])
def test_block_length(n: int, length: int) -> None:
    assert quantiles.block_length(n) == length


def test_a_shift_is_found_with_its_sign_and_size() -> None:
    a, b = autocorrelated(1, 1000) + 50, autocorrelated(2, 1000)
    found = effects.shift(a, b)
    assert found.interval[0] < 50 < found.interval[1]
    assert found.interval[0] > 0
    back = effects.shift(b, a)
    assert back.value == pytest.approx(-found.value)
    deciles = effects.decile_shifts(a, b)
    assert list(deciles) == pytest.approx([q / 10 for q in range(1, 10)])
    assert deciles[0.1].value == pytest.approx(50, abs=10)


def test_cliffs_delta_counts_pairs() -> None:
    low, high = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert effects.cliffs_delta(high, low) == 1
    assert effects.cliffs_delta(low, high) == -1
    assert effects.cliffs_delta(low, low) == 0
    assert effects.cliffs_delta(np.array([2.0]), np.array([1.0, 2.0, 3.0, 1.0])) == 0.25


def test_outliers_are_flagged_by_median_and_mad() -> None:
    values = np.array([10, 11, 9, 10, 12, 8, 10, 11, 9, 500])
    assert np.flatnonzero(outliers(values)).tolist() == [9]
    assert robust_z(np.array([1.0, 2.0, 3.0]))[2] == pytest.approx(1 / 1.4826)
    assert not outliers(np.full(10, 5)).any()
    assert outliers(np.array([5] * 20 + [50])).sum() == 1
    assert len(outliers(np.array([]))) == 0


@pytest.mark.parametrize("period", [2, 3, 4, 5, 8])
def test_an_effects_interval_holds_its_value_in_step_with_a_timer(period: int) -> None:
    """Delays that depend on the packet's place in a tick: every k-th packet would see one place."""
    packets = np.arange(8000)
    ticking = 1000.0 + 500.0 * (packets % period) + np.random.default_rng(period).normal(size=8000)
    steady = np.full(8000, 100.0)
    effect = estimate([ticking, steady], lambda s: s[0].mean(axis=-1) / s[1].mean(axis=-1))
    assert effect.interval[0] <= effect.value <= effect.interval[1]
    assert effect.interval[1] - effect.interval[0] < 0.1 * effect.value


@given(st.integers(0, 5000), st.integers(1, 300))
def test_spread_positions_are_new_in_order_and_one_of_each_stretch(n: int, most: int) -> None:
    chosen = spread(n, most)
    assert len(chosen) == min(n, most)
    assert (np.diff(chosen) > 0).all()
    assert ((chosen >= 0) & (chosen < n)).all()
