"""The taps' cost is what was put in, and untapped packets are in nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.instrument import AtRest, cost
from delaylab_study.charts import words
from delaylab_study.dataset import store
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from tests import synthetic
from tests.grouped import of_packets
from tests.plain import plain
from tests.synthetic import Condition, constant, lognormal

IN_TURN: dict[str, Any] = {"at_rest": 40, "untapped": 40, "in_turn": True}


def analysed(place: Path, condition: Condition) -> Group:
    synthetic.write(place, [condition])
    return next(groups(store.read_study(place)))


def rest(group: Group) -> AtRest:
    return of_packets(group).at_rest


def test_the_cost_is_the_difference_of_neighbouring_blocks(tmp_path: Path) -> None:
    condition = Condition(**IN_TURN, tap_cost_us=20, default=lognormal(5, 0.1))
    found = cost([rest(analysed(tmp_path, condition))])
    assert (found.tapped_n, found.untapped_n, found.pairs, found.trials) == (40, 40, 10, 1)
    assert found.added is not None
    assert found.added.value == pytest.approx(20, abs=2)
    low, high = found.added.interval
    assert low < 20 < high
    assert high - low < 6


def test_untapped_packets_are_left_out_of_everything_else(tmp_path: Path) -> None:
    with_them = analysed(tmp_path, Condition(at_rest=30, untapped=30, in_turn=True))
    account = of_packets(with_them).account
    assert (account.scheduled, account.lost_after) == (260, {})
    assert {point.seen for point in account.points} == {260}
    assert with_them.rtt["app"].n == 200
    assert with_them.doubts == []


def test_without_untapped_packets_the_reason_is_given(tmp_path: Path) -> None:
    found = cost([rest(analysed(tmp_path, Condition(at_rest=30)))])
    assert found.added is None
    assert "needs 4 pairs" in found.why
    assert "there are 0" in found.why


def test_too_few_blocks_give_no_cost_and_the_reason(tmp_path: Path) -> None:
    few = Condition(at_rest=3, untapped=3, in_turn=True, tap_cost_us=500)
    found = cost([rest(analysed(tmp_path, few))])
    assert found.added is None
    assert "there are 2" in found.why


def test_a_dataset_that_did_not_alternate_has_no_cost(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [Condition(at_rest=200, untapped=200, tap_cost_us=20)])
    found = cost([rest(group) for group in groups(store.read_study(tmp_path))])
    assert found.added is None
    assert "not sent by turns" in found.why
    shown = plain(as_json(tmp_path))["instrument"]["netns"]
    assert (shown["added_us"], shown["pairs"], shown["why"]) == (None, 0, found.why)


def test_a_block_without_an_answer_leaves_its_pair_out(tmp_path: Path) -> None:
    condition = Condition(**IN_TURN)
    first = condition.rest_blocks[0]
    lost = range(first.first_seq, first.first_seq + first.packets)
    condition.lost_after = dict.fromkeys(lost, ("request", "sender.stack"))
    found = cost([rest(analysed(tmp_path, condition))])
    assert found.pairs == 9


def test_from_three_trials_on_the_interval_is_between_trials(tmp_path: Path) -> None:
    """Each trial's taps cost something else; what all have in common is only the mean."""
    costs = (5.0, 20.0, 35.0)
    quiet = constant(10)
    trials = [
        Condition(**IN_TURN, tap_cost_us=us, default=quiet, repeat=repeat, seed=repeat)
        for repeat, us in enumerate(costs, 1)
    ]
    synthetic.write(tmp_path, trials)
    (group,) = groups(store.read_study(tmp_path))
    found = cost([rest(group)])
    assert (found.pairs, found.trials) == (30, 3)
    assert found.added is not None
    assert found.added.value == pytest.approx(20, abs=0.5)
    # Student's t for two degrees of freedom is 4.303; the standard error is 15 µs / √3.
    assert found.added.interval[1] - found.added.value == pytest.approx(37.3, rel=0.1)


def near_and_far(tap_cost_us: float) -> list[Condition]:
    """Return two levels 60 ms apart."""
    far = {("request", "sender.uplink"): constant(60_000)}
    common: dict[str, Any] = {"tap_cost_us": tap_cost_us, "default": lognormal(5, 0.05), **IN_TURN}
    return [
        Condition(factors={"distance": "near"}, **common),
        Condition(factors={"distance": "far"}, delays=far, seed=1, **common),
    ]


def test_the_cost_compares_packets_of_the_same_trial_only(tmp_path: Path) -> None:
    synthetic.write(tmp_path, near_and_far(20))
    found = cost([rest(group) for group in groups(store.read_study(tmp_path))])
    assert found.added is not None
    assert found.added.value == pytest.approx(20, abs=2)
    assert found.added.interval[0] < 20 < found.added.interval[1]
    assert found.measurable
    assert found.tapped_us is not None
    assert found.untapped_us is not None
    assert found.tapped_us - found.untapped_us == pytest.approx(found.added.value)


def test_a_cost_that_cannot_be_told_from_none_has_an_upper_limit_only(tmp_path: Path) -> None:
    synthetic.write(tmp_path, near_and_far(0))
    found = cost([rest(group) for group in groups(store.read_study(tmp_path))])
    assert found.added is not None
    assert found.added.interval[0] <= 0 < found.added.interval[1]
    assert not found.measurable
    assert found.at_most_us == found.added.interval[1]
    assert words.cost(found).startswith("no measurable delay, at most ")
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert f"<b>≤ {words.delay(found.at_most_us)}</b><span>added by measuring</span>" in page
    assert "no measurable delay; median user RTT at rest with taps minus that without" in page


def test_a_cost_below_zero_is_no_headline(tmp_path: Path) -> None:
    synthetic.write(tmp_path, near_and_far(-20))
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "<span>added by measuring</span>" not in page
    assert "nothing that can be seen [−" in page


def test_the_machines_record_counts_alternating_blocks_as_one_phase(tmp_path: Path) -> None:
    condition = Condition(**IN_TURN, interval_ns=20_000_000)
    synthetic.write_study(tmp_path, synthetic.study([condition], []))
    record = synthetic.hosts(samples=60, busy=0.8)
    trial = synthetic.trial(condition, 0)
    synthetic.write_trial(tmp_path, trial, *synthetic.tables(condition), record)
    (group,) = groups(store.read_study(tmp_path))
    assert [phase.phase for phase in group.machine.state.phases] == ["before", "load", "after"]
    assert group.machine.state.phases[0].packets == 80
    assert group.machine.state.phases[0].samples >= 14
