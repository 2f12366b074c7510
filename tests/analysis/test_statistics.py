"""Quantiles, their intervals, effects and outliers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab_study.analysis.packets.outliers import outliers, robust_scale
from delaylab_study.analysis.statistics import effects
from delaylab_study.analysis.statistics.effects import estimate, estimate_of_few, mean_of_few
from delaylab_study.analysis.statistics.memory import quantile_times
from delaylab_study.analysis.statistics.quantiles import (
    WORTH_THREADS,
    locate,
    summarise,
    summarise_all,
)
from delaylab_study.analysis.statistics.runs import Floats, ranked, spread
from tests.synthetic import queue


def autocorrelated(seed: int, n: int, correlation: float = 0.5) -> Floats:
    return queue(100, correlation)(np.random.default_rng(seed), n)


def test_a_summary_gives_the_order_statistics_in_microseconds() -> None:
    random = np.random.default_rng(1)
    found = summarise(random.permutation(np.arange(1, 20_001)) * 1000)
    assert (found.n, found.max) == (20_000, 20_000)
    assert found.median.value == pytest.approx(10_000.5)
    assert found.p99.value == pytest.approx(19_800, abs=1)
    assert found.p999.value == pytest.approx(19_980, abs=1)


@pytest.mark.parametrize(
    ("n", "known"),
    [(49, ["median"]), (499, ["median", "p90"]), (4999, ["median", "p90", "p99"])],
)
def test_a_quantile_has_enough_independent_packets_on_either_side_or_is_refused(
    n: int, known: list[str]
) -> None:
    """Twice as many carry one more; just as many may not, since memory cannot be ruled out."""
    random = np.random.default_rng(1)
    for size, more in ((n, 0), (2 * n + 2, 1)):
        found = summarise(random.exponential(1000, size))
        names = ("median", "p90", "p99", "p999")
        given = [name for name in names if getattr(found, name).value is not None]
        assert given == list(names[: len(known) + more])
        assert given[: len(known)] == known


def test_a_median_of_few_packets_has_no_interval() -> None:
    few, enough = summarise(np.arange(5) * 1000), summarise(np.arange(6) * 1000)
    assert (few.median.value, few.median.interval) == (2, None)
    assert few.median.why == "an interval of the median needs 6 packets; there are 5"
    assert enough.median.interval == (0, 5)


def test_few_values_have_an_interval_that_covers() -> None:
    random = np.random.default_rng(1)
    for count in (3, 4, 5):
        covered = 0
        for _ in range(400):
            series = [random.normal(10, 1, count)]
            low, high = estimate_of_few(series, lambda s: np.median(s[0], axis=-1)).interval
            covered += low <= 10 <= high
        assert covered >= 365


def test_a_refused_quantile_says_what_it_needs_and_what_there_is() -> None:
    found = summarise(1000 * autocorrelated(1, 200, 0.9))
    assert found.p99.value is None
    assert found.p99.interval is None
    worth = 200 / quantile_times([ranked(autocorrelated(1, 200, 0.9))], (0.99,))[0]
    said = f"p99 needs 500 independent packets; there are 200, worth {worth:.0f}: about "
    assert found.p99.why.startswith(said)
    due = float(found.p99.why.removeprefix(said).split()[0])
    assert due == pytest.approx(200 * 500 / worth, rel=0.05)
    assert 0 < found.n_effective < 60


def test_no_packets_give_no_numbers() -> None:
    found = summarise(np.array([], dtype=np.int64))
    assert found.n == 0
    assert found.median.value is None
    assert found.median.why


def test_the_interval_of_a_series_with_memory_is_as_much_wider_as_that_memory_asks() -> None:
    series = autocorrelated(3, 2000, 0.8)
    shuffled = np.random.default_rng(1).permutation(series)
    (ours,), (theirs,) = locate(series, (0.5,)), locate(shuffled, (0.5,))
    assert theirs.effective > 1700
    assert ours.interval is not None
    assert theirs.interval is not None
    widths = [each.interval[1] - each.interval[0] for each in (ours, theirs) if each.interval]
    assert widths[0] / widths[1] == pytest.approx(
        np.sqrt(theirs.effective / ours.effective), rel=0.2
    )


def test_trials_that_differ_widen_the_interval_beyond_what_their_packets_tell() -> None:
    random = np.random.default_rng(2)
    trials = [random.lognormal(0, 0.1, 500) * level for level in (1.0, 1.3, 1.6)]
    (found,) = locate(trials, (0.5,))
    interval = found.among_trials()
    assert found.interval is not None
    assert interval is not None
    medians = np.array([np.median(trial) for trial in trials])
    half = 4.303 * medians.std(ddof=1) / np.sqrt(3)
    assert interval[1] - found.value == pytest.approx(half, rel=0.01)
    assert found.interval[1] - found.interval[0] < half
    assert summarise([1000 * trial for trial in trials]).median.interval == pytest.approx(interval)


def test_the_interval_of_a_delay_does_not_go_below_the_least_that_was_seen_or_zero() -> None:
    trials = [np.full(100, level) + np.arange(100) for level in (1000, 2000, 90_000)]
    for below, least in ((0, 0.0), (3000, -2.0)):
        interval = summarise([trial - below for trial in trials]).median.interval
        assert interval is not None
        assert interval[0] == pytest.approx(least)


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
    assert robust_scale(values := np.array([1.0, 2.0, 3.0])).scores(values)[2] == pytest.approx(
        1 / 1.4826
    )
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


def test_the_interval_of_a_mean_does_not_go_beyond_the_possible_values() -> None:
    shares = np.array([0.90, 0.99, 1.0])
    everywhere, cut = mean_of_few(shares), mean_of_few(shares, (0.0, 1.0))
    assert everywhere.interval[1] > 1
    assert cut.interval == (everywhere.interval[0], 1.0)
    assert cut.value == everywhere.value


def test_many_delays_are_summarised_in_threads_as_one_by_one() -> None:
    runs = [
        [100 * autocorrelated(seed, 300_000), 100 * autocorrelated(9, 300)] for seed in (1, 2, 3, 4)
    ]
    assert sum(len(trial) for run in runs for trial in run) > WORTH_THREADS
    assert summarise_all(runs, 0.01) == [summarise(run, 0.01) for run in runs]
