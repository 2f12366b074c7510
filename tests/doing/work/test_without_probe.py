"""Studies without a probe, run: phases, loads that fail, reports without packets, scaling."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from delaylab.agent.result import AgentError
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab_study.analysis.doubts.machine_state import intervals
from delaylab_study.dataset import store
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.study_file.work import WorkSpec
from delaylab_study.trial import measure, without_probe
from delaylab_study.trial.recording import Recorded
from tests.doing.conftest import Run, of_program, our_processes, skip_unless_runnable
from tests.images.conftest import NEEDS_APT
from tests.waiting import wait_until

pytestmark = pytest.mark.root
LAB = "lab: {lab: l, hosts: {one: {cpus: [0]}}, nodes: {n: {host: one, count: 2}}}"
KIND = "cpu-times-differ"
ABOUT_PACKETS = ("packet", "RTT", "probe", "stamp", "one way", "tap")


def ran(delaylab: Run, folder: Path, rest: str, lab: str = LAB) -> Study:
    (folder / "s.yaml").write_text(f"study: s\n{lab}\n{rest}\n")
    delaylab("run", "s.yaml", "--out", "out")
    return store.read_study(folder / "out")


def test_a_trial_is_rest_work_rest(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    study = ran(delaylab, tmp_path, "work: [{name: nap, on: n, command: [sleep, '1.5']}]")
    (trial,) = study.trials
    before, load, after = trial.phases
    assert [each.phase for each in trial.phases] == ["before", "load", "after"]
    assert load.end_ns - load.start_ns >= 1.5e9
    for each in trial.work:
        assert each.began_ns is not None
        assert each.wall_ns is not None
        assert load.start_ns <= each.began_ns
        assert each.began_ns + each.wall_ns <= load.end_ns
    for rest in (before, after):
        assert rest.end_ns - rest.start_ns >= 1e9
    recorded = intervals(study.hosts(trial.id))
    for phase in trial.phases:
        inside = (recorded["since_ns"] >= phase.start_ns) & (recorded["time_ns"] <= phase.end_ns)
        assert inside.sum() >= 1, phase
    assert {each.node for each in trial.work} == {"n-1", "n-2"}
    assert not our_processes(str(run_directory))


def test_nothing_is_said_of_packets(delaylab: Run, tmp_path: Path) -> None:
    ran(delaylab, tmp_path, "work: [{name: count, on: n, cpu: 500}]")
    shown = delaylab("show", "out").stdout
    assert "Work count" in shown
    assert not [word for word in ABOUT_PACKETS if word.lower() in shown.lower()]
    told = json.loads(delaylab("show", "out", "--json").stdout)
    (trial,) = told["trials"]
    assert [trial[name] for name in ("rtt", "segments", "phases", "clocks", "slowest")] == [
        {},
        [],
        [],
        [],
        [],
    ]
    assert [each["phase"] for each in trial["machine_state"]["phases"]] == [
        "before",
        "load",
        "after",
    ]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for section in ("way", "time", "accounting", "figures", "layers", "clocks"):
        assert f'<section id="{section}">' not in page
    assert '<section id="work">' in page
    assert "user RTT" not in page
    planned = delaylab("run", "s.yaml", "--dry-run").stdout
    assert "PACKETS" not in planned
    assert "1 trial: about" in planned


@NEEDS_APT
def test_loads_are_active_while_nodes_work(delaylab: Run, tmp_path: Path) -> None:
    rest = (
        "factors: {load: {rest: [], cpu: [{cpu: 1, on: n-1}]}}\n"
        "work: [{name: count, on: [n-2], cpu: 3000}]"
    )
    study = ran(delaylab, tmp_path, rest)
    by_load = {trial.factors["load"]: trial for trial in study.trials}
    assert [load.load for load in by_load["cpu"].loads] == ["cpu"]
    # The load's node has the same weight, so that at most half of the CPU is left for the work.
    assert _cpu_s(by_load["cpu"]) < 0.6 * _wall_s(by_load["cpu"])
    shown = json.loads(delaylab("show", "out", "--json").stdout)
    (loaded,) = [each for each in shown["trials"] if each["factors"]["load"] == "cpu"]
    assert loaded["loads"]
    assert all(each["acted"] for each in loaded["loads"])


@pytest.mark.parametrize("probed", [True, False])
def test_a_load_that_is_killed_is_not_waited_out(probed: bool) -> None:
    """The work would take ten minutes, and the probe's packets are over long before."""
    spec = lab_from(parse("lab: l\nnodes: {a: {}, b: {}}\nlinks: [{join: [a, b]}]\n", "l.yaml"))
    nap = {"name": "nap", "on": ["b"], "command": ["sleep", "600"], "deadline": "20min"}
    probe = {"from": "a", "to": "b", "count": 20, "interval": "5ms", "at_rest": 2}
    combination = Combination(
        {},
        spec,
        (LoadSpec.model_validate({"cpu": 1, "on": "a"}),),
        ProbeSpec.model_validate(probe) if probed else None,
        (WorkSpec.model_validate(nap),),
    )

    def kill(lab: LiveLab) -> None:
        wait_until(lambda: bool(of_program(lab, "b", "sleep")))
        for pid in of_program(lab, "a", "stress-ng"):
            os.kill(pid, signal.SIGKILL)

    def measured(lab: LiveLab) -> Recorded:
        if probed:
            return measure.measure(lab, combination, 1)
        return without_probe.measure(lab, combination)

    with temporary(spec) as lab:
        killer = threading.Thread(target=kill, args=[lab])
        killer.start()
        with pytest.raises(AgentError, match="ended by itself: signal 9"):
            measured(lab)
        killer.join()


def test_a_resumed_study_has_all_trials(delaylab: Run, tmp_path: Path) -> None:
    study = ran(delaylab, tmp_path, "work: [{name: count, on: n, cpu: 100}]\nrepeat: 2")
    first = study.trials[0]
    gone = tmp_path / "out" / "trials" / study.trials[1].id
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    delaylab("run", "--resume", "out")
    again = store.read_study(tmp_path / "out").trials
    assert [trial.id for trial in again] == [trial.id for trial in study.trials]
    assert again[0] == first


@pytest.mark.slow
def test_time_grows_with_the_nodes_of_one_cpu(delaylab: Run, tmp_path: Path) -> None:
    """The witness is the kernel's account: the CPU time of all nodes, which one CPU gave them."""
    rest = (
        "factors: {nodes: {one: {nodes.n.count: 1}, two: {}, four: {nodes.n.count: 4}}}\n"
        "work: [{name: count, on: n, cpu: 3000}]\nrepeat: 2"
    )
    study = ran(delaylab, tmp_path, rest)
    spent: dict[int, list[float]] = {}
    for trial in study.trials:
        wall_s, cpu_s = _wall_s(trial), _cpu_s(trial)
        # One CPU gives no more than the time that passed; a part of it went to other programs.
        assert cpu_s < 1.03 * wall_s
        spent.setdefault(len(trial.work), []).append(cpu_s)
    mean_s = {nodes: sum(each) / len(each) for nodes, each in spent.items()}
    for nodes in (2, 4):
        assert mean_s[nodes] / mean_s[1] == pytest.approx(nodes, rel=0.25)
    (told,) = json.loads(delaylab("show", "out", "--json").stdout)["scaling"]
    assert (told["nodes"], told["factor"], told["trials_each"]) == ([1, 2, 4], "nodes", 2)
    times_s = dict(zip(told["nodes"], told["times_s"], strict=True))
    for nodes in (1, 2, 4):
        assert times_s[nodes] > mean_s[nodes] / 1.03
    assert told["law"]["each_s"] > 0
    # Either the law holds, and says that four machines would need a quarter, or it is refused.
    if told["refused"] is None:
        by_law = told["predicted"]
        assert by_law["machines"] == 4
        assert by_law["divided_s"] == pytest.approx(times_s[4] / 4, rel=0.1)
    else:
        assert max(map(abs, told["residuals"])) > 0.1


@NEEDS_APT
def test_an_emulated_guest_does_not_see_when_it_had_no_cpu(delaylab: Run, tmp_path: Path) -> None:
    """Two nodes share a CPU. One's own kernel is this machine's; the other's counts all time."""
    skip_unless_runnable("qemu")
    lab = (
        "lab: {lab: l, hosts: {one: {cpus: [0]}}, "
        "nodes: {n: {host: one}, v: {kind: qemu, accel: tcg, host: one}}}"
    )
    work = "work: [{name: count, on: [n, v], cpu: 3000, deadline: 3min}]"
    (trial,) = ran(delaylab, tmp_path, work, lab).trials
    done = {each.node: each for each in trial.work}
    own_s = {
        node: ((each.user_ns or 0) + (each.system_ns or 0)) / 1e9 for node, each in done.items()
    }
    host_s = {node: (each.host_cpu_ns or 0) / 1e9 for node, each in done.items()}
    assert own_s["n"] == pytest.approx(host_s["n"], rel=0.1, abs=0.05)
    assert own_s["v"] > 1.2 * host_s["v"]
    told = json.loads(delaylab("show", "out", "--json").stdout)
    (warning,) = [each for each in told["trials"][0]["warnings"] if each["kind"] == KIND]
    assert "count on v (qemu)" in warning["message"]
    assert "does not see when it had no CPU" in warning["message"]
    nodes = told["work"][0]["nodes"]
    assert {node: each["cpu_times_agree"] for node, each in nodes.items()} == {
        "n": True,
        "v": False,
    }


def _wall_s(trial: TrialRecord) -> float:
    return max((each.wall_ns or 0) / 1e9 for each in trial.work)


def _cpu_s(trial: TrialRecord) -> float:
    return sum((each.host_cpu_ns or 0) / 1e9 for each in trial.work)
