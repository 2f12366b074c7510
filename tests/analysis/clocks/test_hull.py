"""The set of feasible lines, against a linear programme, and its speed."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from delaylab_study.analysis.clocks.hull import RESOLUTION_NS, Feasible, feasible
from delaylab_study.analysis.clocks.line import ClockLine, Nanoseconds
from delaylab_study.analysis.statistics.runs import Floats

MAX_DRIFT = 500e-6
EPOCH = 1_700_000_000_000_000_000
Side = tuple[Nanoseconds, Nanoseconds]


def sides(seed: int, n: int, drift: float = 50e-6, offset: int = 10**12) -> tuple[Side, Side]:
    random = np.random.default_rng(seed)

    def side(sign: int) -> Side:
        at = EPOCH + np.sort(random.integers(0, 2_000_000_000, n))
        delay = np.rint(random.exponential(50_000, n)).astype(np.int64) + 10_000
        true = offset + np.rint(drift * (at - EPOCH)).astype(np.int64)
        return at, true + sign * delay

    return side(1), side(-1)


def extremes(upper: Side, lower: Side, at: int) -> tuple[float, float]:
    """The lowest and the highest offset at a time that a line can have, by linear programming."""
    origin, base = int(min(upper[0].min(), lower[0].min())), int(upper[1][0])
    rows: list[list[float]] = []
    limits: list[float] = []
    for (times, values), sign in ((upper, 1), (lower, -1)):
        for when, value in zip(times.tolist(), values.tolist(), strict=True):
            rows.append([sign, sign * (when - origin) / 1e9])
            limits.append(sign * (value - base) + RESOLUTION_NS)
    aim = np.array([1.0, (at - origin) / 1e9])
    bounds = [(None, None), (-MAX_DRIFT * 1e9, MAX_DRIFT * 1e9)]
    low, high = (linprog(sign * aim, rows, limits, bounds=bounds).fun for sign in (1, -1))
    assert low is not None
    assert high is not None
    return base + low, base - high


def range_at(lines: Feasible, at: int) -> tuple[float, float]:
    middle = lines.base_ns + float(lines.line().offset(np.array([at]))[0])
    bound = float(lines.bound(np.array([at]))[0])
    return middle - bound, middle + bound


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60), drift=st.floats(-4e-4, 4e-4))
def test_the_bounds_at_both_ends_are_those_of_a_linear_programme(
    seed: int, n: int, drift: float
) -> None:
    upper, lower = sides(seed, n, drift)
    lines = feasible(upper, lower, MAX_DRIFT)
    assert lines is not None
    for at in (lines.start_ns, lines.end_ns):
        assert range_at(lines, at) == pytest.approx(extremes(upper, lower, at), abs=1.0, rel=0)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 300), drift=st.floats(-4e-4, 4e-4))
def test_the_middle_line_violates_no_causality(seed: int, n: int, drift: float) -> None:
    upper, lower = sides(seed, n, drift)
    lines = feasible(upper, lower, MAX_DRIFT)
    assert lines is not None
    line = lines.line()
    assert (upper[0] + upper[1] - line.forward(upper[0]) >= -2).all()
    assert (line.forward(lower[0]) - lower[0] - lower[1] >= -2).all()


def test_the_true_line_is_within_the_bounds_at_every_time() -> None:
    upper, lower = sides(3, 500)
    lines = feasible(upper, lower, MAX_DRIFT)
    assert lines is not None
    at = np.linspace(lines.start_ns, lines.end_ns, 101).astype(np.int64)
    true = 50e-6 * (at - EPOCH) + (10**12 - lines.base_ns)
    apart = np.abs(lines.line().offset(at) - true)
    assert (apart <= lines.bound(at)).all()
    assert float(lines.bound(at).min()) > 1000


def test_contradictions_leave_no_line() -> None:
    upper, lower = sides(1, 100)
    assert feasible(upper, (lower[0], lower[1] + 10_000_000), MAX_DRIFT) is None
    assert feasible(upper, lower, MAX_DRIFT) is not None


def test_a_drift_beyond_the_limit_leaves_no_line() -> None:
    upper, lower = sides(2, 200, drift=800e-6)
    assert feasible(upper, lower, MAX_DRIFT) is None
    wide = feasible(upper, lower, 0.1)
    assert wide is not None
    low, high = wide.drifts()
    assert low <= 800e-6 <= high


def test_a_million_packets_take_about_a_second() -> None:
    upper, lower = sides(4, 1_000_000)
    began = time.process_time()
    lines = feasible(upper, lower, MAX_DRIFT)
    assert time.process_time() - began < 1
    assert lines is not None
    assert range_at(lines, lines.end_ns)[0] <= 10**12 + 100_000 <= range_at(lines, lines.end_ns)[1]


@given(
    offset=st.integers(-(10**18), 10**18),
    drift=st.floats(-5e-4, 5e-4),
    since=st.integers(-(10**12), 10**13),
)
def test_a_line_leads_back_to_where_it_came_from(offset: int, drift: float, since: int) -> None:
    line = ClockLine(EPOCH, offset, 0.5, drift)
    there = np.array([EPOCH + since])
    assert abs(int(line.back(line.forward(there))[0]) - EPOCH - since) <= 1


def test_a_line_loses_no_nanosecond_at_times_since_the_epoch() -> None:
    times: Nanoseconds = EPOCH + np.arange(1000)
    line = ClockLine(EPOCH, 123_456_789_012_345_678, 0.0, 0.0)
    moved: Floats = np.diff(line.forward(times))
    assert (moved == 1).all()
    assert (line.back(line.forward(times)) == times).all()
