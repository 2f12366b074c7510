"""Clocks that tick: the tick is learned from the stamps, and the truth is within the bound."""

from __future__ import annotations

import numpy as np
import pytest

from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.analysis.clocks.ticks import tick_ns
from tests.analysis.clocks.cases import MACHINE, aligned, ticking
from tests.synthetic import START

CASES = [50, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]


@pytest.mark.parametrize("number", CASES)
@pytest.mark.parametrize(
    ("guest_ns", "machine_ns"),
    [(40_000, 1), (100_000, 1), (1, 60_000), (40_000, 100_000)],
)
def test_the_truth_is_within_the_bound_whatever_the_clocks_tick(
    guest_ns: int, machine_ns: int, number: int
) -> None:
    cases = [aligned(ticking(seed, guest_ns, machine_ns)) for seed in range(number)]
    assert sum(case.within_bounds for case in cases) >= 0.99 * number
    assert all(case.alignment.hops[0].fit.changes == [] for case in cases)
    for case in cases:
        guest = case.condition.clock("sender.app").name
        ticks = case.alignment.ticks[guest], case.alignment.ticks[MACHINE]
        expected = tuple(tick if tick > 1 else 0 for tick in (guest_ns, machine_ns))
        assert ticks == pytest.approx(expected, rel=1e-3)


def stamps(seed: int, n: int = 400) -> Nanoseconds:
    """The times of four points that each of n packets passes within some ten µs, every 5 ms."""
    random = np.random.default_rng(seed)
    sent = START + np.arange(n) * 5_000_000 + random.integers(0, 20_000, n)
    passed = np.cumsum(random.exponential(15_000, (4, n)), axis=0).astype(np.int64)
    return (sent + passed).ravel()


@pytest.mark.parametrize("seed", range(20))
def test_a_clock_that_shows_every_nanosecond_has_no_tick(seed: int) -> None:
    assert tick_ns(stamps(seed)) == 0
    assert tick_ns(stamps(seed)[:10]) == 0


@pytest.mark.parametrize("jitter_ns", [100, 1_000, 5_000])
@pytest.mark.parametrize("points", [1, 2])
def test_regular_intervals_are_no_tick(jitter_ns: int, points: int) -> None:
    """Packets that nobody answers leave stamps of their sender alone, every 10 ms."""
    random = np.random.default_rng(jitter_ns)
    sent = np.arange(400) * 10_001_800 + random.exponential(jitter_ns, 400)
    passed = [sent + point * random.normal(9_000, 300, 400) for point in range(points)]
    assert tick_ns(np.concatenate(passed).astype(np.int64) + START) == 0


@pytest.mark.parametrize("tick", [100, 838.0957, 1000, 30_517.578125, 100_000, 4_000_000])
@pytest.mark.parametrize("drift", [0.0, 400e-6])
def test_a_tick_is_learned_also_if_it_is_no_whole_number_of_nanoseconds(
    tick: float, drift: float
) -> None:
    """The clock counts its ticks, and multiplies the count by what it believes a tick to be."""
    counted = np.floor((stamps(1) - START) / (tick * (1 + drift)))
    assert tick_ns(np.floor(counted * tick).astype(np.int64) + START) == pytest.approx(
        tick, rel=1e-3
    )


def test_a_clock_that_is_set_has_the_same_tick_before_and_after() -> None:
    shown = np.sort(stamps(2)) // 50_000 * 50_000
    shown[len(shown) // 2 :] += 17_123
    assert tick_ns(shown) == pytest.approx(50_000, rel=1e-3)
