"""Work of a group on progress and rates that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from delaylab_study.analysis.analyse import analyse
from delaylab_study.analysis.work import MOMENT_S, Work, work_of
from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import PROGRESS
from tests import synthetic

S = 1_000_000_000
Steps = list[tuple[float, float]]


def done(node: str, wall_s: float, **more: Any) -> dict[str, Any]:
    return {
        "work": "count",
        "node": node,
        "unit": "units/s",
        "rate": 100 / wall_s,
        "wall_ns": round(wall_s * S),
        "user_ns": S,
        "system_ns": 0,
        **more,
    }


def worked(place: Path, *trials: dict[str, tuple[dict[str, Any], Steps]]) -> Work:
    """A group of trials, each with what its nodes got done and their progress in s."""
    levels = [synthetic.Condition("netns", "rest", repeat=at + 1) for at in range(len(trials))]
    synthetic.write_study(place, synthetic.study(levels, []) | {"spec": {"study": "synthetic"}})
    for index, (level, nodes) in enumerate(zip(levels, trials, strict=True)):
        rows = [
            ("count", node, round(at_s * S), amount)
            for node, (_, steps) in nodes.items()
            for at_s, amount in steps
        ]
        record = synthetic.trial(level, index) | {"work": [each for each, _ in nodes.values()]}
        progress = pl.DataFrame(rows, schema=PROGRESS, orient="row")
        tables = (*synthetic.tables(level), synthetic.hosts(), progress)
        synthetic.write_trial(place, record, *tables)
    study = store.read_study(place)
    (found,) = work_of(study, study.trials)
    return found


def test_shares_are_those_while_all_worked(tmp_path: Path) -> None:
    """The slow node is at half speed until the fast one is done after 1 s, then at full speed."""
    fast = (done("a", 1), [(0.5, 50.0), (1.0, 100.0)])
    slow = (done("b", 1.5), [(1.0, 50.0), (1.5, 100.0)])
    found = worked(tmp_path, {"a": fast, "b": slow}, {"a": fast, "b": slow})
    assert found.fairness is not None
    shares = {node: share.of_fair.value for node, share in found.fairness.shares.items()}
    assert shares == pytest.approx({"a": 4 / 3, "b": 2 / 3})
    assert found.fairness.verdict == "not fair"
    assert found.settled_s is None


def test_a_job_of_all_nodes_is_shared_by_nobody(tmp_path: Path) -> None:
    """Medians are those of the trials', the least that of all; only the first node has them."""

    def found(median_ns: float, least_ns: float, flops: float) -> dict[str, Any]:
        one = {"operation": "round-trip", "size_bytes": 64, "repeats": 9}
        return {
            "together": True,
            "latencies": [{**one, "median_ns": median_ns, "least_ns": least_ns}],
            "figures": [{"name": "linpack", "value": flops, "unit": "flop/s"}],
        }

    trials = [
        {"a": (done("a", 2, **found(*each)), Steps()), "b": (done("b", 2, together=True), Steps())}
        for each in ((30.0, 20.0, 1e9), (50.0, 10.0, 3e9), (31.0, 25.0, 2e9))
    ]
    work = worked(tmp_path, *trials)
    assert work.together
    assert work.fairness is None
    assert set(work.nodes) == {"a", "b"}
    (message,) = work.messages
    assert (message.operation, message.size_bytes) == ("round-trip", 64)
    assert (message.median_ns, message.least_ns) == (31.0, 10.0)
    (figure,) = work.figures
    assert (figure.name, figure.value, figure.unit) == ("linpack", 2e9, "flop/s")


def test_without_progress_shares_are_those_of_the_rates(tmp_path: Path) -> None:
    found = worked(tmp_path, {"a": (done("a", 1), []), "b": (done("b", 1.5), [])})
    assert found.fairness is not None
    assert found.fairness.shares["b"].of_fair.value == pytest.approx(0.8)
    assert found.courses == []
    assert found.nodes["a"].longest_stop_s is None


def test_one_trial_decides_nothing(tmp_path: Path) -> None:
    found = worked(tmp_path, {"a": (done("a", 1), []), "b": (done("b", 1), [])})
    assert found.fairness is not None
    assert found.fairness.verdict == "open"


def test_when_shares_settle(tmp_path: Path) -> None:
    """Node b stands still for 0.1 s at first: less and less of what was done since."""
    straight: Steps = [(at / 100, at) for at in range(1, 401)]
    later: Steps = [(0.1, 0), *((at / 100 + 0.1, at) for at in range(1, 401))]
    trial = {"a": (done("a", 4), straight), "b": (done("b", 4.1), later)}
    found = worked(tmp_path, trial)
    # |share - 1| = 0.1 / (2 t - 0.1) = 0.05 at t = 1.05 s
    assert found.settled_s == pytest.approx(1.05, abs=1.01 * MOMENT_S)
    assert found.nodes["b"].longest_stop_s == pytest.approx(0.1)
    assert found.nodes["a"].longest_stop_s == pytest.approx(0.01)


def test_delays_stand_beside_the_share_at_the_time(tmp_path: Path) -> None:
    """Node `probe` stands still for the first half of 1 s, and does all its work in the second."""
    level = synthetic.Condition("netns", "rest")
    packets = synthetic.tables(level)[1]
    first_ns = int(str(packets.filter(pl.col("phase") == "load")["intended_ns"].min()))
    began = {"began_ns": first_ns - S // 4}
    stands: Steps = [(0.5, 0.0), (1.0, 100.0)]
    goes_on: Steps = [(0.5, 50.0), (1.0, 100.0)]
    trial = {
        "probe": (done("probe", 1, **began), stands),
        "other": (done("other", 1, **began), goes_on),
    }
    found = worked(tmp_path, trial)
    study = store.read_study(tmp_path)
    work = analyse(study, study.trials).work
    assert work is not None
    (delays,) = work.by_share
    assert (delays.work, delays.node) == ("count", "probe")
    assert found.courses[0].shares("probe")[0] == 0
    assert set(np.round(delays.share, 6)) <= {0.0, round(4 / 3, 6)}
    assert len(delays.share) == len(delays.since_due_us)
    still = delays.share == 0
    assert still.any()
    assert still[0]  # packets are in the order of sending
    assert np.all(np.diff(still.astype(int)) <= 0)
    assert (delays.since_due_us > 0).all()


def test_a_node_that_failed_is_named_and_the_others_are_compared(tmp_path: Path) -> None:
    nodes = {name: (done(name, 1), Steps()) for name in ("a", "b")}
    died = {"work": "count", "node": "c", "unit": "units/s", "failed": "it died"}
    found = worked(tmp_path, {**nodes, "c": (died, [])}, {**nodes, "c": (done("c", 1), [])})
    assert found.failed == {"c": "it died"}
    assert found.fairness is not None
    assert list(found.fairness.shares) == ["a", "b"]


def test_host_cpu_time_is_given_only_where_all_trials_have_it(tmp_path: Path) -> None:
    with_it = done("a", 1, host_cpu_ns=2 * S)
    found = worked(tmp_path, {"a": (with_it, [])}, {"a": (done("a", 1), [])})
    assert found.nodes["a"].host_cpu_s is None
    assert found.fairness is None


@pytest.mark.parametrize(("wall_s", "doubted"), [(0.005, True), (0.4, True), (0.9, False)])
def test_work_that_ends_soon_is_doubted(tmp_path: Path, wall_s: float, doubted: bool) -> None:
    """A job of 5 ms in a phase of 1 s says nothing of the packets, and nobody doubted it."""
    packets = synthetic.tables(synthetic.Condition("netns", "rest"))[1]
    first_ns = int(str(packets.filter(pl.col("phase") == "load")["intended_ns"].min()))
    worked(tmp_path, {"a": (done("a", wall_s, began_ns=first_ns), [])})
    study = store.read_study(tmp_path)
    found = [each for each in analyse(study, study.trials).doubts if each.kind == "short-work"]
    assert bool(found) is doubted
    for each in found:
        assert each.values["covered"] == pytest.approx(wall_s / 0.995, abs=0.01)
