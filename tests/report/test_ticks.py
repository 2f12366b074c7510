"""Ticks of logarithmic axes: a reader finds at least three of them, wherever the values lie."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from delaylab_study.charts.vega import Rows, ticks_between, ticks_of, ticks_of_panels


@given(st.floats(0.2, 1e5), st.floats(1.01, 90))
@example(1 / 3, 1.9)  # a third of what lies between is 0.1, but for the last digit
def test_three_ticks_lie_between_any_two_values(least: float, ratio: float) -> None:
    most = least * ratio
    ticks = ticks_between(least, most)
    assert sum(least <= tick <= most for tick in ticks) >= 3
    assert ticks == sorted(ticks)


def test_ticks_of_close_values_are_round_numbers() -> None:
    assert ticks_between(5200, 5700) == [5200, 5300, 5400, 5500, 5600, 5700]
    assert [each for each in ticks_between(9, 60) if 9 <= each <= 60] == [10, 20, 50]
    assert [each for each in ticks_between(3, 3000) if 3 <= each <= 3000] == [10, 100, 1000]


def test_each_panel_with_a_scale_of_its_own_has_ticks() -> None:
    spans = {"rest": (14, 110), "cpu": (3, 90), "network": (4200, 11000)}
    rows: Rows = [{"of": name, "us": us} for name, span in spans.items() for us in span]
    ticks = ticks_of_panels(rows, "of", "us")
    for least, most in spans.values():
        assert sum(least <= tick <= most for tick in ticks) >= 2


def test_rows_without_values_have_ticks_at_decades() -> None:
    empty: Rows = [{"us": None}]
    assert ticks_of([], "us") == ticks_of(empty, "us") == ticks_between(0, 0)
    rows: Rows = [{"low": 5200, "high": 5700}, {"low": None}]
    assert ticks_of(rows, "low", "high") == ticks_between(5200, 5700)
