"""The taps' cost is what was put in, and untapped packets are in nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.analysis.group import Group, groups
from delaylab.analysis.packets.instrument import cost
from delaylab.dataset import store
from tests import synthetic
from tests.synthetic import Condition


def analysed(place: Path, condition: Condition) -> Group:
    synthetic.write(place, [condition])
    return next(groups(store.read_study(place)))


def test_the_cost_is_the_shift_of_the_medians(tmp_path: Path) -> None:
    group = analysed(tmp_path, Condition(at_rest=200, untapped=200, tap_cost_us=20))
    found = cost([group.at_rest])
    assert (found.tapped_n, found.untapped_n) == (200, 200)
    assert found.added is not None
    assert found.added.value == pytest.approx(20, abs=2)
    low, high = found.added.interval
    assert low < 20 < high
    assert high - low < 6


def test_untapped_packets_are_left_out_of_everything_else(tmp_path: Path) -> None:
    with_them = analysed(tmp_path / "a", Condition(at_rest=30, untapped=30))
    assert with_them.account.scheduled == 260
    assert with_them.account.lost_after == {}
    assert {point.seen for point in with_them.account.points} == {260}
    assert with_them.rtt["app"].n == 200
    assert with_them.doubts == []


def test_without_untapped_packets_the_reason_is_given(tmp_path: Path) -> None:
    found = cost([analysed(tmp_path, Condition(at_rest=30)).at_rest])
    assert found.added is None
    assert "there are 30 and 0" in found.why
