"""The taps' cost is what was put in, and untapped packets are in nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from delaylab.analysis.group import Group, groups
from delaylab.analysis.packets.instrument import cost
from delaylab.charts import words
from delaylab.dataset import store
from delaylab.report.html import write_report
from tests import synthetic
from tests.synthetic import Condition, constant, lognormal


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


def near_and_far(tap_cost_us: float, packets: int = 40) -> list[Condition]:
    """Return two levels 60 ms apart, of which the near one has most of the untapped packets."""
    far = {("request", "sender.uplink"): constant(60_000)}
    common: dict[str, Any] = {"tap_cost_us": tap_cost_us, "default": lognormal(5, 0.05)}
    return [
        Condition(factors={"distance": "near"}, at_rest=packets, untapped=2 * packets, **common),
        Condition(
            factors={"distance": "far"},
            at_rest=2 * packets,
            untapped=packets,
            delays=far,
            seed=1,
            **common,
        ),
    ]


def test_the_cost_compares_packets_of_the_same_levels_only(tmp_path: Path) -> None:
    synthetic.write(tmp_path, near_and_far(20))
    found = cost([group.at_rest for group in groups(store.read_study(tmp_path))])
    assert found.added is not None
    assert found.added.value == pytest.approx(20, abs=2)
    assert found.added.interval[0] < 20 < found.added.interval[1]
    assert found.measurable
    assert found.tapped_us is not None
    assert found.untapped_us is not None
    assert found.tapped_us - found.untapped_us == pytest.approx(found.added.value)


def test_a_cost_that_cannot_be_told_from_none_has_an_upper_limit_only(tmp_path: Path) -> None:
    synthetic.write(tmp_path, near_and_far(0))
    found = cost([group.at_rest for group in groups(store.read_study(tmp_path))])
    assert found.added is not None
    assert found.added.interval[0] <= 0 < found.added.interval[1]
    assert not found.measurable
    assert found.at_most_us == found.added.interval[1]
    assert words.cost(found).startswith("too little to measure: at most ")
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert f"<b>≤ {words.delay(found.at_most_us)}</b><span>added by measuring</span>" in page
    assert "too little to measure; median user RTT at rest" in page


def test_a_cost_below_zero_is_no_headline(tmp_path: Path) -> None:
    synthetic.write(tmp_path, near_and_far(-20))
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "<span>added by measuring</span>" not in page
    assert "nothing that can be seen [−" in page
