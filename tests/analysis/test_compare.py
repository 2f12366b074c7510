"""Comparing conditions: what was put in is found, with its sign, size and surety."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from delaylab_study.analysis.statistics.compare import compare, holm
from delaylab_study.analysis.statistics.curves import log_density
from delaylab_study.analysis.statistics.effects import DECILES, UNKNOWN
from delaylab_study.analysis.statistics.quantiles import last_axis_quantiles
from delaylab_study.analysis.statistics.runs import Floats
from tests.synthetic import queue


def delays(seed: int, n: int = 500, mean_us: float = 100) -> Floats:
    return queue(mean_us, correlation=0.5)(np.random.default_rng(seed), n)


def test_a_shift_is_found_at_every_decile() -> None:
    found = compare(delays(1) + 40, delays(2))
    assert found.n == (500, 500)
    assert found.medians[0] - found.medians[1] == pytest.approx(found.shift.value)
    assert found.shift.interval[0] < 40 < found.shift.interval[1]
    assert list(found.deciles) == list(DECILES)
    inside = [e.interval[0] <= 40 <= e.interval[1] for e in found.deciles.values()]
    assert sum(inside) >= 7
    assert found.deciles[0.5].value == pytest.approx(found.shift.value)
    assert found.delta.interval[0] > 0.25
    assert found.p < 0.001


def test_a_longer_tail_is_seen_in_the_upper_deciles_only() -> None:
    base = delays(3, 2000)
    random = np.random.default_rng(4)
    slow = base[::-1] + np.where(random.random(len(base)) < 0.3, 500.0, 0.0)
    found = compare(slow, base)
    assert found.deciles[0.1].value < 30
    assert found.deciles[0.9].interval[0] > 200


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), n=st.integers(30, 200), m=st.integers(30, 200))
def test_turned_around_everything_changes_its_sign(seed: int, n: int, m: int) -> None:
    a, b = delays(seed, n), delays(seed + 1, m)
    there, back = compare(a, b), compare(b, a)
    assert there.shift.value == pytest.approx(-back.shift.value)
    assert there.delta.value == pytest.approx(-back.delta.value)
    assert there.p == pytest.approx(back.p)
    assert -1 <= there.delta.interval[0] <= there.delta.interval[1] <= 1


def test_series_of_one_kind_differ_rarely() -> None:
    """Autocorrelated series of one distribution: p below 5 % in about 5 of 100."""
    low = sum(compare(delays(2 * s, 400), delays(2 * s + 1, 400)).p < 0.05 for s in range(100))
    assert low <= 12


def test_another_distribution_is_told_from_the_same() -> None:
    assert compare(delays(4) * 3, delays(1)).p < 0.0003
    assert compare(delays(2), delays(1)).p > 0.05


def test_holm_is_that_of_the_book() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@pytest.mark.parametrize("sizes", [(40, 60), (300, 200), (2000, 1500)])
@pytest.mark.parametrize("tied", [False, True])
def test_p_of_independent_packets_is_near_that_of_mann_and_whitney(
    sizes: tuple[int, int], tied: bool
) -> None:
    """A short series cannot show that it has no memory, which makes p larger."""
    random = np.random.default_rng(sum(sizes))
    a, b = (random.exponential(10, size) + 1.5 * index for index, size in enumerate(sizes))
    if tied:
        a, b = np.round(a), np.round(b)
    expected = scipy.stats.mannwhitneyu(a, b).pvalue
    found = compare(a, b).p
    errors, most = (abs(float(scipy.stats.norm.ppf(p / 2))) for p in (found, expected))
    assert 0.75 * most <= errors <= most


def test_packets_with_memory_tell_less() -> None:
    a, b = (queue(100, correlation=0.9)(np.random.default_rng(s), 400) for s in (1, 2))
    assert compare(a + 30, b).p > 100 * scipy.stats.mannwhitneyu(a + 30, b).pvalue


def test_equal_values_say_nothing() -> None:
    assert compare(np.ones(20), np.ones(30)).p == 1.0


def test_few_packets_say_nothing() -> None:
    found = compare(np.arange(4.0), np.arange(4.0) + 100)
    assert found.p == 1.0
    assert found.shift.interval == UNKNOWN
    assert found.delta.interval == UNKNOWN


def test_delays_that_are_all_longer_leave_a_limit() -> None:
    random = np.random.default_rng(1)
    found = compare(random.exponential(1, 50) + 100, random.exponential(1, 50))
    assert found.delta.value == 1
    assert found.delta.interval[1] == 1
    assert 0.8 < found.delta.interval[0] < 0.95


def test_repeats_that_differ_by_themselves_are_no_difference() -> None:
    random = np.random.default_rng(1)
    levels = (1.0, 1.3, 1.6), (1.2, 1.5, 1.8)
    a, b = ([level * random.lognormal(0, 0.1, 300) for level in side] for side in levels)
    mixed = compare(*(random.permutation(np.concatenate(side)) for side in (a, b)))
    assert mixed.p < 0.001
    apart = compare(a, b)
    assert apart.p > 0.1
    for effect in (apart.shift, apart.delta):
        assert effect.interval[0] < 0 < effect.interval[1]


@settings(max_examples=25)  # statsmodels takes 60 ms for each
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_statsmodels(ps: list[float]) -> None:
    expected = multipletests(ps, method="holm")[1] if ps else []
    assert holm(ps) == pytest.approx([float(p) for p in expected])


@pytest.mark.parametrize("shape", [(1,), (2,), (500, 7), (3, 4, 100)])
def test_quantiles_by_sorting_are_numpys(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).lognormal(3, 1, shape)
    qs = (0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0)
    expected = np.quantile(values, qs, axis=-1)
    assert last_axis_quantiles(values, qs) == pytest.approx(expected, rel=1e-12)


def test_a_density_is_scipys() -> None:
    values = delays(5)
    at, density = log_density(values)
    expected = scipy.stats.gaussian_kde(np.log10(values))(np.log10(at))
    assert density == pytest.approx(expected, rel=1e-9)
