"""Analysis of trials without a probe: phases, the machine's state, its doubts; records checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import delaylab_study
from delaylab.errors import BadInput
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.compared.many import compare_studies
from delaylab_study.analysis.doubts.cpu_time import cpu_time_doubts
from delaylab_study.analysis.group import Group
from delaylab_study.dataset import store
from delaylab_study.dataset.store import read_study
from tests import synthetic, unprobed
from tests.unprobed import S, Trial, job

TWO = [job("a", 1.0), job("b", 1.0)]


def analysed(place: Path, *trials: Trial) -> list[Group]:
    return list(groups(read_study(unprobed.write(place, trials))))


def test_the_machine_is_known_in_each_phase(tmp_path: Path) -> None:
    (group,) = analysed(tmp_path, Trial(TWO))
    phases = {phase.phase: phase for phase in group.machine.state.phases}
    assert list(phases) == ["before", "load", "after"]
    assert {name: phase.samples for name, phase in phases.items()} == {
        "before": 10,
        "load": 20,
        "after": 10,
    }
    assert phases["load"].busy == pytest.approx(0.1)
    assert {phase.packets for phase in group.machine.state.phases} == {0}
    assert (group.probed, group.packets) == (False, None)
    assert [work.name for work in group.works] == ["count"]
    assert not group.doubts


def test_a_machine_that_is_not_at_rest_is_doubted(tmp_path: Path) -> None:
    busy = synthetic.hosts(40, busy=0.8, pressure=0.3)
    (group,) = analysed(tmp_path, Trial(TWO, hosts=busy))
    (doubt,) = group.doubts
    assert doubt.kind == "not-at-rest"
    assert "2 of 2 phases" in doubt.message


def test_recorded_doubts_are_kept(tmp_path: Path) -> None:
    warning = {"kind": "work-failed", "message": "b died", "remedy": ""}
    (group,) = analysed(tmp_path, Trial(TWO, more={"warnings": [warning, warning]}))
    assert [doubt.message for doubt in group.doubts] == ["b died"]


def test_there_are_no_tables_of_packets(tmp_path: Path) -> None:
    place = unprobed.write(tmp_path, [Trial(TWO)])
    (trial,) = (place / "trials").iterdir()
    assert {path.name for path in trial.iterdir()} == {"trial.json", "hosts.parquet"}
    dataset = delaylab_study.read(place)
    assert dataset.packets.is_empty()
    assert dataset.segments(phase=None).is_empty()
    assert dataset.work["node"].to_list() == ["a", "b"]


WRONG: dict[str, dict[str, Any]] = {
    "no phases": {"phases": []},
    "a sender alone": {"sender": {"node": "a", "host": "one", "kind": "netns"}},
    "a phase twice": {"phases": [{"phase": "load", "start_ns": 1, "end_ns": 2}] * 2},
    "a phase that ends before it begins": {
        "phases": [{"phase": "load", "start_ns": 2, "end_ns": 1}]
    },
    "an unknown phase": {"phases": [{"phase": "later", "start_ns": 1, "end_ns": 2}]},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_record_that_is_none_is_refused(wrong: str) -> None:
    raw = unprobed.record(Trial(TWO, more=WRONG[wrong]), 0)
    with pytest.raises(BadInput, match=r"trial\.json: damaged"):
        store.trial_record(raw)


def repeated(place: Path, rate: float, **more: Any) -> store.Study:
    """Four trials in which node `a` works at this rate, and `b` at 100 units/s."""
    trials = [
        Trial([job("a", 1, rate=rate + at, **more), job("b", 1, rate=100 + at)], repeat=at)
        for at in (1, 2, 3, 4)
    ]
    return read_study(unprobed.write(place, trials))


def test_work_is_compared_by_rates_and_shares(tmp_path: Path) -> None:
    before, after = repeated(tmp_path / "one", 100), repeated(tmp_path / "two", 50)
    found = compare_studies([before, after]).compared[0]
    verdicts = {line.part.name: line.verdict for line in found.lines}
    assert verdicts == {
        "work count of a, rate": "slower",
        "work count of a, share": "less",
        "work count of b, rate": "no difference seen",
        "work count of b, share": "more",
    }
    rate = next(line for line in found.lines if line.part.name == "work count of a, rate")
    assert (rate.before, rate.after, rate.unit) == (102.5, 52.5, "units/s")
    low, high = rate.effect.interval
    # Welch: sqrt(2 × (5/3) / 4) = 0.913 units/s, 6 degrees of freedom, t = 3.71 at 99 %
    assert high - low == pytest.approx(2 * 3.707 * 0.9129, rel=0.01)
    assert not found.unlike


def test_one_truth_shows_no_difference(tmp_path: Path) -> None:
    found = compare_studies(
        [repeated(tmp_path / "one", 90), repeated(tmp_path / "two", 90)]
    ).compared[0]
    assert len(found.lines) == 4
    assert not found.seen


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    one = read_study(unprobed.write(tmp_path / "one", [Trial(TWO)]))
    again = read_study(unprobed.write(tmp_path / "again", [Trial(TWO)]))
    three = read_study(unprobed.write(tmp_path / "three", [Trial([*TWO, job("c", 1)])]))
    level = synthetic.Condition(factors={"nodes": "some"})
    packets = read_study(synthetic.write(tmp_path / "packets", [level]))
    for other, said in (
        (again, "work count, because one trial on each side does not tell"),
        (three, "work count, because a, b finished before, a, b, c after"),
        (packets, "packets, because only after has a probe"),
    ):
        found = compare_studies([one, other]).compared[0]
        assert not found.lines
        assert any(said in line for line in found.unlike), found.unlike


@pytest.mark.parametrize(
    ("kind", "own_s", "said"),
    [
        ("netns", 0.8, "all else that ran in the node"),
        ("netns", 1.2, "no reason is known"),
        ("qemu", 0.8, "the threads of its hypervisor"),
        ("qemu", 1.2, "does not see when it had no CPU"),
    ],
)
def test_cpu_times_that_differ_are_told_with_their_reason(
    tmp_path: Path, kind: str, own_s: float, said: str
) -> None:
    (group,) = analysed(tmp_path, Trial([job("a", 2, kind=kind, user_ns=round(own_s * S))]))
    (doubt,) = group.doubts
    assert doubt.kind == "cpu-times-differ"
    assert said in doubt.message
    assert f"differs by {abs(100 * (1 / own_s - 1)):.0f} %" in doubt.message


@pytest.mark.parametrize(("own_s", "host_s"), [(1.0, 1.09), (1.0, 0.91), (0.02, 0.06)])
def test_cpu_times_that_agree_are_not_doubted(tmp_path: Path, own_s: float, host_s: float) -> None:
    """They may differ by 10 %, or by 50 ms."""
    times = {"user_ns": round(own_s * S), "host_cpu_ns": round(host_s * S)}
    (group,) = analysed(tmp_path, Trial([job("a", 2, **times)]))
    assert not group.doubts


@pytest.mark.parametrize(
    "more",
    [
        {"loads": [{"load": "cpu", "on": "a"}]},
        {"work": [job("a", 2, user_ns=S // 2), job("a", 2, work="other")]},
        {
            "sender": {"node": "a", "host": "one", "kind": "netns"},
            "responder": {"node": "b", "host": "one", "kind": "netns"},
            "ways": [{"request": ["sender.app"], "reply": ["sender.app"]}],
        },
    ],
    ids=["a load", "other work", "packets"],
)
def test_a_node_with_more_to_do_may_have_taken_more(more: dict[str, Any]) -> None:
    """Then its cgroup has more than the work, as it should; less would still be told."""
    busy = Trial([job("a", 2, user_ns=S // 2)], more=more)
    record = store.trial_record(unprobed.record(busy, 0))
    assert not list(cpu_time_doubts([record]))
    less = Trial([job("a", 2, user_ns=2 * S)], more={**more, "work": [job("a", 2, user_ns=2 * S)]})
    assert list(cpu_time_doubts([store.trial_record(unprobed.record(less, 0))]))


def test_cpu_times_of_which_one_is_unknown_are_not_compared(tmp_path: Path) -> None:
    (group,) = analysed(tmp_path, Trial([job("a", 2, host_cpu_ns=None), job("b", 2, user_ns=0)]))
    assert not group.doubts
