"""Two runs of one truth differ at the stated rate; a known difference lies in the interval."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from delaylab_study.analysis.statistics.effects import Effect, shifts
from delaylab_study.analysis.statistics.student import error_of_difference
from delaylab_study.analysis.statistics.two_runs import CERTAIN, share_difference
from tests.synthetic import Delay, exponential, lognormal, queue

PAIRS = 200
# False alarms that 200 pairs have with a probability of 1 in 1000, if the rate is 1 in 100.
MOST_ALARMS = 8


def run(
    delay: Delay, random: np.random.Generator, trials: int, n: int, apart: float = 0.0
) -> list[NDArray[np.float64]]:
    """Return trials whose levels differ by a factor with this standard deviation."""
    return [delay(random, n) * np.exp(apart * random.normal()) for _ in range(trials)]


def alarm(effect: Effect) -> bool:
    return not effect.interval[0] <= 0 <= effect.interval[1]


@pytest.mark.parametrize(
    ("delay", "trials", "n", "apart"),
    [
        (lognormal(5), 1, 400, 0.0),
        (exponential(5), 1, 1000, 0.0),
        (queue(5), 1, 400, 0.0),
        (lognormal(5), 3, 200, 0.2),
        (queue(5), 4, 200, 0.2),
    ],
)
def test_two_runs_of_one_truth_differ_at_the_stated_rate(
    delay: Delay, trials: int, n: int, apart: float
) -> None:
    random = np.random.default_rng(7)
    alarms = [0, 0]
    for _ in range(PAIRS):
        pair = [run(delay, random, trials, n, apart) for _ in range(2)]
        for index, effect in enumerate(shifts(pair[1], pair[0], (0.5, 0.99), CERTAIN)):
            # A p99 that a run does not carry has an infinite interval, and raises no alarm.
            alarms[index] += alarm(effect)
    assert CERTAIN == 0.99
    assert max(alarms) <= MOST_ALARMS


def test_packets_alone_would_raise_alarms_where_trials_differ() -> None:
    """Mixed into one trial, the same runs differ in most pairs: the interval is between trials."""
    random = np.random.default_rng(7)
    alarms = 0
    for _ in range(40):
        runs = [np.concatenate(run(lognormal(5), random, 3, 200, 0.2)) for _ in range(2)]
        pair = [[random.permutation(packets)] for packets in runs]
        alarms += alarm(shifts(pair[1], pair[0], (0.5,), CERTAIN)[0])
    assert alarms > 8


@pytest.mark.parametrize("shift", [1.0, -2.0])
def test_a_known_shift_lies_in_the_interval_and_is_seen(shift: float) -> None:
    random = np.random.default_rng(3)
    before, after = run(lognormal(9), random, 2, 400), run(lognormal(9), random, 2, 400)
    (effect,) = shifts([trial + shift for trial in after], before, (0.5,), CERTAIN)
    assert effect.interval[0] <= shift <= effect.interval[1]
    (alone,) = shifts([after[0] + shift], before[:1], (0.5,), CERTAIN)
    assert alarm(alone)


def test_a_run_without_repeats_is_taken_to_vary_as_the_other() -> None:
    known, alone = np.array([1.0, 2.0, 3.0]), np.array([9.0])
    for pair in ((known, alone), (alone, known)):
        error, freedom = error_of_difference(*pair)
        assert error == pytest.approx(np.sqrt(1 / 3 + 1))
        assert freedom == 2
    assert error_of_difference(alone, np.array([1.0]))[0] == 0


def test_the_error_of_a_difference_is_welchs() -> None:
    ours, theirs = np.array([1.0, 2.0, 4.0]), np.array([5.0, 9.0, 6.0, 7.0])
    expected = scipy.stats.ttest_ind(ours, theirs, equal_var=False)
    error, freedom = error_of_difference(ours, theirs)
    assert (ours.mean() - theirs.mean()) / error == pytest.approx(expected.statistic)
    assert freedom == pytest.approx(expected.df)


def losses(random: np.random.Generator, share: float, burst: int, n: int) -> NDArray[np.float64]:
    """Return fates of packets that are lost in bursts."""
    return np.repeat((random.random(n // burst) < share).astype(np.float64), burst)


@pytest.mark.parametrize("burst", [1, 10])
def test_losses_of_one_truth_differ_at_the_stated_rate(burst: int) -> None:
    random = np.random.default_rng(5)
    alarms = 0
    for _ in range(PAIRS):
        pair = [[losses(random, 0.05, burst, 2000)] for _ in range(2)]
        alarms += alarm(share_difference(pair[0], pair[1]))
    assert alarms <= MOST_ALARMS


def test_more_losses_are_seen_and_none_at_all_leave_a_limit() -> None:
    random = np.random.default_rng(5)
    none = [np.zeros(1000)]
    seen = share_difference(none, [losses(random, 0.05, 1, 1000)])
    assert seen.interval[0] > 0.02
    nothing = share_difference(none, none)
    assert nothing.value == 0
    assert 0 < nothing.interval[1] < 0.01
