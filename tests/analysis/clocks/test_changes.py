"""A clock whose rate changes is said to be slewed, one whose offset jumps to be set."""

from __future__ import annotations

import pytest

from tests.analysis.clocks.cases import MACHINE, Aligned, aligned, seeded, slewing, step_of
from tests.synthetic import START

CASES = [100, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
FEWER = [50, pytest.param(150, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]


@pytest.fixture(scope="module", params=CASES)
def slewed(request: pytest.FixtureRequest) -> list[Aligned]:
    return [aligned(slewing(seed)) for seed in range(request.param)]


def test_the_truth_is_within_the_bound_while_a_clock_is_slewed(slewed: list[Aligned]) -> None:
    assert sum(case.within_bounds for case in slewed) >= 0.99 * len(slewed)


@pytest.mark.parametrize("number", FEWER)
def test_a_slew_too_short_to_be_seen_seldom_leaves_the_bound(number: int) -> None:
    """In trials of a second a slew moves the clock by less than packets take, and can hide."""
    cases = [aligned(slewing(seed, interval_ns=5_000_000)) for seed in range(number)]
    assert sum(case.within_bounds for case in cases) >= 0.97 * number


def test_a_slew_is_called_a_slew_and_never_a_step(slewed: list[Aligned]) -> None:
    found = [[change.kind for change in case.alignment.hops[0].fit.changes] for case in slewed]
    assert sum("slew" in kinds for kinds in found) >= 0.95 * len(slewed)
    assert sum("step" in kinds for kinds in found) <= 0.01 * len(slewed)


def test_a_slews_time_and_rate_are_found(slewed: list[Aligned]) -> None:
    """The change of rate at its beginning, or the one back at its end."""
    right = []
    for case in slewed:
        ((begin, end, rate),) = case.condition.clock("sender.app").slews
        # After so long the clock is ahead by twice the bound.
        late_ns = 2 * case.alignment.bound_ns(MACHINE) / abs(rate) + 100_000_000
        right += [
            any(
                abs(change.time_ns - START - at) <= late_ns
                and change.rate_ppm == pytest.approx(by * 1e6, abs=abs(rate) * 5e5 + 30)
                for at, by in ((begin, rate), (end, -rate))
            )
            for change in case.alignment.hops[0].fit.changes
            if change.kind == "slew"
        ]
    assert len(right) >= len(slewed)
    assert sum(right) >= 0.95 * len(right)


@pytest.mark.parametrize("number", FEWER)
def test_a_step_is_called_a_step_and_never_a_slew(number: int) -> None:
    cases = [aligned(seeded(2 * seed + 1)) for seed in range(number)]
    large = [
        case
        for case in cases
        if abs(step_of(case.condition)[1]) > 4 * case.alignment.bound_ns(MACHINE)  # type: ignore[index]
    ]
    assert len(large) > number / 2
    kinds = [change.kind for case in large for change in case.alignment.hops[0].fit.changes]
    assert "slew" not in kinds
    assert kinds.count("step") >= 0.95 * len(large)
    others = [c.kind for case in cases for c in case.alignment.hops[0].fit.changes]
    assert "slew" not in others
