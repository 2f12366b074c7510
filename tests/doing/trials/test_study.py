"""A study from its file to its report, on real packets."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest

from delaylab.machines import LOCAL
from delaylab.progress import silent
from delaylab_study.analysis.packets.accounting import account
from delaylab_study.dataset import store
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.study import runner
from delaylab_study.study.executor import Bench, Executor, Here, OnStart
from delaylab_study.study.job import Block, TrialOutcome
from delaylab_study.study.order import begin, plan_trials
from delaylab_study.study_file.load import load_study
from tests.doing.conftest import (
    DELAYLAB,
    Run,
    as_json,
    only_line,
    our_processes,
    skip_unless_runnable,
)
from tests.stamped import columns, complete, narrow, packets, segments
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.root

UPLINK_BPS = 100e6
STUDY = """\
study: small
lab:
  lab: small
  hosts:
    sut: {uplink: {rate: 100Mbit}}
    target: {uplink: {rate: 100Mbit}}
  nodes:
    probe: {kind: netns, host: sut}
    noisy: {kind: netns, host: sut}
    echo: {kind: netns, host: target}
  links: [{join: [probe, noisy, echo], name: lan}]
factors:
  environment:
    native: {nodes.probe.kind: native, nodes.noisy.kind: native}
    shared: {nodes.probe.kind: shared, nodes.noisy.kind: shared}
    netns: {nodes.probe.kind: netns, nodes.noisy.kind: netns}
  load:
    rest: []
    cpu: [{cpu: 1, on: noisy}]
    network: [{network: both-ways, on: noisy, to: echo}]
probe: {from: probe, to: echo, count: 60, interval: 4ms, at_rest: 10, late: 300ms}
claims: [network-adds-most]
"""


@pytest.mark.parametrize("part", ["hosts.sut", "nodes.probe"])
def test_a_trial_whose_lab_names_an_absent_cpu_is_skipped(
    delaylab: Run, tmp_path: Path, part: str
) -> None:
    """The others run, and nothing is tried twice."""
    pinned = f"  pinned: {{no: {{}}, yes: {{{part}.cpus: [8191]}}}}\n"
    text = STUDY.replace("  environment:\n", f"{pinned}  environment:\n")
    (tmp_path / "study.yaml").write_text(text)
    only = ["--only", "environment=netns", "--only", "load=rest"]
    delaylab("run", str(tmp_path / "study.yaml"), *only, "--out", str(tmp_path / "data"))
    found = {t.factors["pinned"]: t for t in store.read_study(tmp_path / "data").trials}
    assert (found["no"].status, found["yes"].status) == ("ok", "skipped")
    assert "no CPU 8191: this machine has CPU" in str(found["yes"].reason)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of the study above, run once for all tests of this module."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.yaml").write_text(STUDY)
    subprocess.run(
        [str(DELAYLAB), "run", "study.yaml", "--out", "out"],
        cwd=folder,
        check=True,
        timeout=PATIENCE_S,
        capture_output=True,
        env={**os.environ, "DELAYLAB_RUN": str(folder.parent.parent / f"r{os.getpid()}")},
    )
    return folder / "out"


def tapped(study: store.Study, trial: TrialRecord) -> pl.DataFrame:
    """A trial's packets but for those sent before its taps were on."""
    table = packets(study.stamps(trial.id), study.probes(trial.id), trial.way)
    assert table.filter(phase="untapped").height == 10
    return table.filter(pl.col("phase") != "untapped")


def test_every_trial_is_there_and_whole(result: Path) -> None:
    study = store.read_study(result)
    assert len(study.record.planned) == 9
    assert {trial.id for trial in study.trials} == set(study.record.planned)
    assert [trial.reason for trial in study.trials if trial.status != "ok"] == []


def test_the_segments_of_every_complete_packet_sum_to_its_rtt(result: Path) -> None:
    study = store.read_study(result)
    for trial in study.trials:
        table = complete(
            packets(study.stamps(trial.id), study.probes(trial.id), trial.way), trial.way
        )
        assert len(table) > 0
        names = columns(trial.way)
        rtt = (table[names[-1]] - table[names[0]]).to_numpy()
        total = rtt * 0
        for segment in segments(table, trial.way):
            total[segment.rows] += segment.delay_ns
        assert (total == rtt).all()


def test_at_rest_every_point_sees_every_packet(result: Path) -> None:
    study = store.read_study(result)
    for trial in study.trials:
        if trial.factors["load"] != "rest":
            continue
        table = tapped(study, trial)
        assert len(table) == 60 + 2 * 10
        missing = {name: table[name].null_count() for name in columns(trial.way)}
        assert not any(missing.values()), (trial.id, missing)


def test_every_scheduled_packet_is_accounted_for_at_every_point(result: Path) -> None:
    study = store.read_study(result)
    for trial in study.trials:
        found = account(narrow(tapped(study, trial)), [trial])
        assert found.scheduled == 80
        assert len(found.points) == len(columns(trial.way))
        for point in found.points:
            assert point.seen + point.unseen + point.lost == 80, point


def test_loads_did_what_was_asked(result: Path) -> None:
    """Each trial has its level's load, as configured, and what that did is of its size."""
    study = store.read_study(result)
    asked: dict[str, list[tuple[object, ...]]] = {
        "rest": [],
        "cpu": [("cpu", "noisy", None, "1")],
        "network": [("network", "noisy", "echo", "both-ways")],
    }
    found = [load for trial in study.trials for load in trial.loads]
    assert len(found) == 6
    for trial in study.trials:
        loads = [(each.load, each.on, each.to, each.configured) for each in trial.loads]
        assert loads == asked[trial.factors["load"]], trial.id
    for load in found:
        if load.load == "cpu":
            assert load.achieved["operations"] > 0
            # One worker has no more than one CPU; what others take of it is their share.
            assert 1 < load.achieved["cpu_percent_per_worker"] < 105
        else:
            assert load.achieved["uplink_bps"] == UPLINK_BPS
            # What was sent may still wait for the uplink; what was received has passed it.
            assert load.achieved["sent_bps"] > UPLINK_BPS / 100, load
            assert UPLINK_BPS / 100 < load.achieved["received_bps"] < UPLINK_BPS * 1.01, load


def test_the_machine_was_watched(result: Path) -> None:
    study = store.read_study(result)
    for trial in study.trials:
        metrics = study.hosts(trial.id)
        assert metrics["time_ns"].n_unique() >= 3
        assert {"probe", "noisy", "echo"} <= set(metrics["place"])


def test_network_load_waits_in_the_uplinks_queue(result: Path) -> None:
    """The delay is where the paper has it: above the wire, on the way out."""
    study = store.read_study(result)
    trial = next(
        t for t in study.trials if t.factors == {"environment": "netns", "load": "network"}
    )
    table = complete(packets(study.stamps(trial.id), study.probes(trial.id), trial.way), trial.way)
    table = table.filter(pl.col("phase") == "load")
    medians = {
        (s.leg, s.start, s.end): sorted(s.delay_ns)[len(s.delay_ns) // 2]
        for s in segments(table, trial.way)
        if not s.merged
    }
    queue = medians.pop(("request", "sender.vif", "sender.uplink"))
    far_queue = medians.pop(("reply", "responder.vif", "responder.uplink"))
    # Waking the program takes as long as the machine lets it wait.
    elsewhere = max(ns for where, ns in medians.items() if "sender.app" not in where)
    assert min(queue, far_queue) > 2 * elsewhere


def test_show_has_the_promised_form(delaylab: Run, result: Path) -> None:
    shown = as_json(delaylab("show", str(result), "--json"))
    assert {"study", "machine", "trials", "claims"} <= set(shown)
    trial = shown["trials"][0]
    assert {"id", "factors", "status", "warnings", "rtt", "segments"} <= set(trial)
    assert {"n", "median_us", "p99_us"} <= set(trial["rtt"]["app"])
    assert {"n", "median_us", "p99_us"} <= set(trial["rtt"]["stack"])
    assert {"leg", "from", "to", "layer", "n", "median_us", "p99_us"} <= set(trial["segments"][0])
    claim = shown["claims"][0]
    assert {"id", "text", "verdict", "why", "effect", "interval"} <= set(claim)


def test_the_report_opens_without_network(delaylab: Run, result: Path) -> None:
    path = Path(delaylab("report", str(result)).stdout.strip())
    text = path.read_text()
    assert "<svg" in text
    for loaded in ('src="http', 'href="http', "@import", "url(http"):
        assert loaded not in text


def test_an_interrupted_study_is_resumed(
    tmp_path: Path, run_directory: Path, delaylab: Run
) -> None:
    """Killed at any moment, it ends with the same set of trials, none of them run twice."""
    (tmp_path / "study.yaml").write_text(STUDY)
    process = subprocess.Popen(
        [str(DELAYLAB), "run", "study.yaml", "--only", "load=rest", "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    trials = tmp_path / "out" / "trials"
    while not (trials.is_dir() and list(trials.glob("[!.]*/trial.json"))):
        assert process.poll() is None
        time.sleep(0.01)  # without leaving the CPU, it would disturb the study
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = {path.parent.name: path.read_bytes() for path in trials.glob("[!.]*/trial.json")}
    assert 1 <= len(first) < 3
    with store.locked(tmp_path / "out"):
        refused = delaylab("run", "--resume", "out", code=1).stderr
    assert "out: another run measures into this dataset" in only_line(refused)
    delaylab("run", "--resume", "out")
    study = store.read_study(tmp_path / "out")
    assert {trial.id for trial in study.trials} == set(study.record.planned)
    assert len(study.record.planned) == 3
    for name, content in first.items():
        assert (trials / name / "trial.json").read_bytes() == content
    delaylab("down", "--all")
    assert our_processes(str(run_directory)) == []
    assert json.loads((tmp_path / "out" / "study.json").read_text())["study"] == "small"


def test_a_level_that_does_not_fit_is_skipped_and_the_rest_goes_on(
    delaylab: Run, tmp_path: Path
) -> None:
    skip_unless_runnable("uml")
    level = "native: {nodes.probe.kind: native, nodes.noisy.kind: native}"
    assert level in STUDY
    huge = "huge: {nodes.noisy.kind: uml, nodes.noisy.memory: 900GiB}"
    (tmp_path / "study.yaml").write_text(STUDY.replace(level, huge))
    argv = ["--only", "load=rest", "--out", "out"]
    delaylab("run", "study.yaml", *argv)
    trials = {t.factors["environment"]: t for t in store.read_study(tmp_path / "out").trials}
    assert trials["huge"].status == "skipped"
    assert "MiB of memory" in str(trials["huge"].reason)
    assert {t.status for name, t in trials.items() if name != "huge"} == {"ok"}


@pytest.mark.usefixtures("run_directory")
def test_trials_that_differ_in_load_share_a_lab(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    planned = plan_trials(load_study(tmp_path / "study.yaml"), "quick", {})
    labs = [trial.combination.lab for trial in planned]
    changes = sum(a != b for a, b in itertools.pairwise(labs))
    assert changes == len({lab.written.model_dump_json() for lab in labs}) - 1
    shared = Bench(LOCAL, silent)
    with closing(shared):
        first = shared.lab(labs[0])
        assert shared.lab(labs[0]) is first
        other = shared.lab(next(lab for lab in labs if lab != labs[0]))
        assert [lab.name for lab in LOCAL.labs()] == [other.name]
    assert LOCAL.labs() == []


class InAnotherProcess(Executor):
    """An executor that sends each block to a process of its own, and gets its outcomes back."""

    def run(self, blocks: Sequence[Block], on_start: OnStart) -> Iterator[TrialOutcome]:
        for block in blocks:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                yield from pool.submit(run_block, block).result(timeout=PATIENCE_S)


def run_block(block: Block) -> list[TrialOutcome]:
    with Here() as executor:
        return list(executor.run([block], lambda *_: None))


@pytest.mark.usefixtures("run_directory")
def test_blocks_and_outcomes_are_values_that_another_process_takes_and_gives(
    tmp_path: Path,
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    study = load_study(tmp_path / "study.yaml")
    only = {"environment": {"netns"}, "load": {"rest"}}
    planned = plan_trials(study, "quick", only)
    out = begin(study, "quick", planned, tmp_path / "data")
    outcomes = runner.run(out, planned, InAnotherProcess(), lambda _: None, lambda *_: None)
    assert [outcome.status for outcome in outcomes] == ["ok"] * len(planned)
    assert store.finished(out) == {item.id for item in planned}
    for item in planned:
        assert len(store.read_study(out).probes(item.id)) > 0
    assert LOCAL.labs() == []
