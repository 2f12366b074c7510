"""Intervals cover the truth as often as they say, or are refused: a small `make coverage`.

An interval that covers 94 % of the time misses more than the limit in 1 of 1000 runs of
`DATA_SETS`, and so does a test that finds a difference in 6 % of pairs. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from tools.coverage.long import LongTrial, quantile
from tools.coverage.measures import NAMES, TESTS, Tally, tally
from tools.coverage.processes import Process, log_normal, pareto, queue_and_noise, truth

from delaylab_study.analysis.doubts.packets import MEMORIES
from delaylab_study.analysis.statistics import quantiles
from delaylab_study.analysis.statistics.effects import share

DATA_SETS = 80
COVERED, DIFFER, UNLIKELY = 0.94, 0.06, 0.001
FEWEST_GIVEN = 20

CASES = [
    Process("log-normal", log_normal, 0.0, 60),
    Process("log-normal", log_normal, 0.6, 200),
    Process("log-normal", log_normal, 0.9, 200),
    Process("Pareto", pareto, 0.9, 60),
    Process("Pareto", pareto, 0.6, 400),
    Process("like the quickstart's", queue_and_noise, 0.92, 200),
    Process("log-normal", log_normal, 0.6, 200, 3, 0.1),
    pytest.param(Process("Pareto", pareto, 0.9, 60, 10, 0.1), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("process", CASES, ids=lambda each: f"{each.name}-{each.kept}-{each.n}")
def test_intervals_cover_and_identical_processes_do_not_differ(process: Process) -> None:
    found = tally(process, range(DATA_SETS))
    # Medians are given of every process: a statistic that is always refused is not judged.
    assert found["median"].given >= FEWEST_GIVEN
    for name in NAMES:
        each = found[name]
        missed = each.given - each.covered
        if name in TESTS:
            assert missed <= binom.ppf(1 - UNLIKELY, each.of, DIFFER), name
        elif each.given >= FEWEST_GIVEN:
            assert missed <= binom.ppf(1 - UNLIKELY, each.given, 1 - COVERED), name


def test_the_check_sees_intervals_that_ignore_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process("log-normal", log_normal, 0.9, 200)
    honest = tally(process, range(60))["median"]
    monkeypatch.setattr(quantiles, "quantile_times", lambda _, qs: np.ones(len(qs)))
    naive = tally(process, range(60))["median"]
    assert honest.covered >= 0.85 * honest.given
    assert naive.covered <= 0.6 * naive.given


def test_a_tail_that_few_packets_carry_is_refused() -> None:
    found = tally(Process("log-normal", log_normal, 0.6, 200), range(20))
    assert found["p99"].given == 0
    assert found["median"].given == 20


def test_the_interval_of_a_small_share_covers_where_trials_differ() -> None:
    """Trials' shares are skewed: Student's interval of them lay below the truth in 89 of these."""
    process, sets = Process("Pareto", pareto, 0.9, 200, 10, 0.1), 1000
    ninety = truth(process).quantiles[0.9]
    found = Tally()
    for seed in range(sets):
        run = process.run(np.random.default_rng(seed))
        found.add(share([trial > ninety for trial in run], run).interval, 0.1)
    assert found.given - found.covered <= binom.ppf(1 - UNLIKELY, found.given, 1 - COVERED)


@pytest.mark.parametrize(
    ("memory", "n"),
    [(10, 100_000), (500, 100_000), (5000, 100_000), (20_000, 100_000), (5000, 200_000)],
)
def test_a_median_allows_for_memory_longer_than_a_stretch_or_is_doubted(
    memory: int, n: int
) -> None:
    """With memory of 5000 packets in 200 000 it covered in 19 of 40, and nothing doubted it."""
    trial, missed, doubted = LongTrial(memory, n), 0, 0
    for seed in range(40):
        (found,) = quantiles.locate(trial.draw(np.random.default_rng(seed)), (0.5,))
        assert found.interval is not None
        low, high = found.interval
        right = low <= quantile(0.5) <= high
        doubted += found.effective < MEMORIES
        missed += not right and found.effective >= MEMORIES
    assert missed <= 4
    if memory <= n / 200:
        assert doubted == 0
