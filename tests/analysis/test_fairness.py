"""Fairness on rates whose true shares are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab_study.analysis.fairness import Fairness, Got, fairness, jain

ROUNDS = 4


def worked(
    shares: list[float], *, spread: float = 0.0, seed: int = 1, cpu: list[float] | None = None
) -> Fairness:
    """Rates in these proportions, each with a random error of `spread` in every round."""
    random = np.random.default_rng(seed)
    times = cpu or [1.0] * len(shares)
    rounds = [
        {
            f"n{at}": Got(share * (1 + spread * random.standard_normal()), times[at])
            for at, share in enumerate(shares)
        }
        for _ in range(ROUNDS)
    ]
    return fairness(rounds)


def test_known_shares_are_found() -> None:
    found = worked([1, 2, 4])
    assert [share.of_fair.value for share in found.shares.values()] == pytest.approx(
        [3 / 7, 6 / 7, 12 / 7]
    )
    assert found.spread == pytest.approx(4)
    assert found.jain == pytest.approx(49 / 63)
    assert (found.verdict, found.worst) == ("not fair", "n0")


def test_a_node_that_got_nothing_is_the_worst() -> None:
    found = worked([0, 1])
    assert (found.verdict, found.worst, found.spread) == ("not fair", "n0", float("inf"))


def test_the_reason_is_cpu_time_or_what_is_done_with_it() -> None:
    less_time = worked([1, 2], cpu=[1, 2]).shares["n0"]
    assert (less_time.cpu, less_time.speed) == pytest.approx((2 / 3, 1))
    slower = worked([1, 2]).shares["n0"]
    assert (slower.cpu, slower.speed) == pytest.approx((1, 2 / 3))


def test_equal_shares_are_called_fair() -> None:
    said = [worked([1, 1, 1, 1], spread=0.03, seed=seed).verdict for seed in range(1000)]
    assert said.count("not fair") == 0
    assert said.count("fair") > 700, "the rule must be able to say yes"


def test_noise_leaves_it_open() -> None:
    said = [worked([1, 1, 1, 1], spread=0.3, seed=seed).verdict for seed in range(400)]
    assert said.count("not fair") < 0.05 * len(said)
    assert said.count("fair") == 0


def test_a_share_just_outside_is_found_with_enough_precision() -> None:
    said = [worked([0.8, 1, 1, 1], spread=0.01, seed=seed).verdict for seed in range(200)]
    assert said.count("not fair") > 190


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=20))
def test_jains_index_lies_between_one_node_and_all(shares: list[float]) -> None:
    index = jain(np.array(shares))
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
