"""Factor levels that matter are told from those that do not; outliers are shared out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau

from delaylab_study.analysis.packets.outliers import (
    MAD,
    MEAN_DEVIATION,
    outlier_shares,
    robust_scale,
)
from delaylab_study.analysis.statistics.factors import COUNTED, Series, associations


def factorial(n: int = 300, seed: int = 1) -> list[Series]:
    """Network load doubles the delay, slow probing adds a little, affinity nothing."""
    random = np.random.default_rng(seed)
    found: list[Series] = []
    for load, rate, affinity in itertools.product(("cpu", "net"), ("slow", "fast"), ("on", "off")):
        delay = 100 * random.lognormal(0, 0.2, n) * (2 if load == "net" else 1)
        delay += 15 if rate == "slow" else 0
        found.append(({"load": load, "rate": rate, "affinity": affinity, "kind": "qemu"}, delay))
    return found


def test_levels_that_matter_have_a_tau_with_the_right_sign() -> None:
    found = {(each.factor, each.level): each for each in associations(factorial())}
    assert ("kind", "qemu") not in found
    assert found["load", "net"].tau > 0.5
    assert found["load", "net"].tau == pytest.approx(-found["load", "cpu"].tau)
    assert 0.02 < found["rate", "slow"].tau < found["load", "net"].tau
    assert found["load", "net"].p < 0.001
    assert abs(found["affinity", "on"].tau) < 0.1
    assert found["affinity", "on"].p > 0.05


@pytest.mark.parametrize("tied", [False, True])
def test_tau_is_that_of_scipy(tied: bool) -> None:
    random = np.random.default_rng(1)
    values = [random.normal(0, 3, 60), random.normal(1, 3, 90)]
    if tied:
        values = [np.round(each) for each in values]
    found = associations([({"load": "a"}, values[0]), ({"load": "b"}, values[1])])
    assert {each.n for each in found} == {150}
    expected = kendalltau([0] * 60 + [1] * 90, np.concatenate(values))
    assert found[1].tau == pytest.approx(expected.statistic)
    alone = found[1].p / 2
    assert np.log(alone) == pytest.approx(np.log(expected.pvalue), rel=0.15)


def test_repeats_that_differ_by_themselves_are_no_association() -> None:
    random = np.random.default_rng(2)
    levels = {"a": (1.0, 1.3, 1.6), "b": (1.2, 1.5, 1.8)}
    repeats = [
        ({"load": name}, level * random.lognormal(0, 0.1, 150))
        for name, several in levels.items()
        for level in several
    ]
    together = [
        ({"load": name}, np.concatenate([v for lv, v in repeats if lv["load"] == name]))
        for name in levels
    ]
    together = [(level, random.permutation(values)) for level, values in together]
    assert associations(repeats)[0].p > 0.1
    assert associations(together)[0].p < 0.01


def test_a_long_trial_does_not_outweigh_a_short_one() -> None:
    random = np.random.default_rng(1)
    long, short = random.normal(0, 1, 100_000), random.normal(1, 1, 500)
    (first, _) = associations([({"load": "a"}, long), ({"load": "b"}, short)])
    assert first.n <= 2 * COUNTED


def test_no_series_and_equal_series_have_no_association() -> None:
    assert associations([]) == []
    equal = associations([({"load": "a"}, np.ones(50)), ({"load": "b"}, np.ones(50))])
    assert [(each.tau, each.p) for each in equal] == [(0.0, 1.0), (0.0, 1.0)]


def test_outliers_are_shared_out_to_scenarios() -> None:
    series = factorial()
    bursts = np.where(np.arange(300) % 10 == 0, 5000.0, 0.0)
    series = [(lv, v + bursts if lv["load"] == "net" else v) for lv, v in series]
    scale, found = outlier_shares(series, ("load", "place"))
    assert scale.by == MAD
    assert [share.levels for share in found] == [{"load": "net"}, {"load": "cpu"}]
    assert found[0].of_all > 0.95
    assert found[0].outliers >= 4 * 30
    assert found[0].n == 1200
    assert sum(share.of_all for share in found) == pytest.approx(1)


def test_where_values_are_quantised_the_scale_falls_back_and_says_so() -> None:
    values = np.array([1000.0] * 80 + [2000.0] * 20)
    scale = robust_scale(values)
    assert scale.by == MEAN_DEVIATION
    assert scale.sigma == pytest.approx(1.2533 * 200)
    assert not scale.flags(np.array([1000.0, 1800.0])).any()
    assert scale.flags(np.array([2000.0])).all()
    assert outlier_shares([({"load": "a"}, np.ones(9))], ("load",))[1][0].of_all == 0
    assert outlier_shares([], ("load",))[1] == []
