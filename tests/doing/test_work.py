"""Work of a study on real nodes: barrier, progress, results, and work that fails."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import delaylab as delaylab_api
from delaylab.dataset import store
from delaylab.dataset.store import Study
from delaylab.kinds import KINDS
from delaylab.machine.rights import own_rights
from tests.doing.conftest import Run, our_processes
from tests.images.conftest import NEEDS_APT

pytestmark = pytest.mark.root
PROBE = "probe: {from: a, to: b, count: 20, interval: 5ms, at_rest: 4}"


def ran(delaylab: Run, folder: Path, work: str, kind: str = "netns", **more: str) -> Study:
    """A study of one trial with this work on nodes `a` and `b`."""
    other = "netns" if kind == "shared" else kind  # a host has one stack to share
    nodes = f"a: {{kind: {kind}, host: one}}, b: {{kind: {other}, host: one}}"
    lab = (
        f"lab: {{lab: two, hosts: {{one: {{}}}}, nodes: {{{nodes}}}, "
        "links: [{between: [a, b], name: lan}]}"
    )
    text = f"study: s\n{lab}\nfactors: {{}}\n{PROBE}\nwork:\n{work}\n"
    (folder / "s.yaml").write_text(text)
    delaylab("run", "s.yaml", "--out", "out", **more)
    return store.read_study(folder / "out")


@NEEDS_APT
@pytest.mark.parametrize("kind", ["netns", "shared", "lxc", "docker", "qemu"])
def test_all_work_is_done_and_told_on_each_kind(delaylab: Run, tmp_path: Path, kind: str) -> None:
    reason = KINDS[kind].can_run(own_rights(), False)
    if reason:
        pytest.skip(reason)
    study = ran(
        delaylab,
        tmp_path,
        "  - {name: count, on: [a, b], cpu: 600}\n"
        "  - {name: send, on: a, to: b, tcp: 1s}\n"
        "  - {name: say, on: b, command: [sh, -c, 'echo did 1 >&2; echo rate 2.5'], unit: x/s,\n"
        "     progress: 'did ([0-9]+)', result: 'rate ([0-9.]+)'}",
        kind,
    )
    (trial,) = study.trials
    assert not [each for each in trial.warnings if each.kind == "work-failed"]
    done = {(each.work, each.node): each for each in trial.work}
    assert list(done) == [("count", "a"), ("count", "b"), ("send", "a"), ("say", "b")]
    assert (done["say", "b"].rate, done["say", "b"].unit) == (2.5, "x/s")
    assert len({each.began_ns for each in trial.work}) == 1
    for each in trial.work:
        if kind == "qemu":
            assert each.vcpu_ns is not None
            assert each.host_cpu_ns is not None
            assert 0 < each.vcpu_ns < each.host_cpu_ns
        else:
            assert each.vcpu_ns is None
    progress = study.progress(trial.id)
    for node in "ab":
        counted = progress.filter((progress["work"] == "count") & (progress["node"] == node))
        assert counted["done"].to_list()[-1] == 600
        assert counted["done"].is_sorted()
        wall_ns = done["count", node].wall_ns
        assert wall_ns is not None
        since_ns = counted["since_ns"].to_list()
        assert all(0 < each <= wall_ns for each in since_ns)
    shown = json.loads(delaylab("show", "out", "--json").stdout)
    assert [each["work"] for each in shown["work"]] == ["count", "send", "say"]
    assert set(shown["work"][0]["nodes"]) == {"a", "b"}
    rows = list(csv.DictReader(delaylab("show", "out", "--csv", "work").stdout.splitlines()))
    assert [(row["work"], row["node"]) for row in rows] == list(done)
    assert float(rows[-1]["rate"]) == 2.5
    # Programs tell their progress to either of their outputs.
    told = progress.filter(progress["work"] == "say")
    assert told["done"].to_list() == [1]
    steps = delaylab_api.read(tmp_path / "out").progress()
    assert set(steps["work"]) == {"count", "send", "say"}


FAILING: dict[str, tuple[str, str]] = {
    "dies": ("command: [sh, -c, 'echo no disk >&2; exit 3']", "exit code 3; it said last: no disk"),
    "is killed": ("command: [sh, -c, 'kill -9 $$']", "it ended with signal 9"),
    "hangs": (
        "command: [sh, -c, 'echo at 7; sleep 60'], progress: 'at ([0-9]+)', deadline: 1s",
        "it did not end within 1 s; it said last: at 7",
    ),
    "does not exist": ("command: [no-such-program]", "run no-such-program"),
    "is never ready": (
        "command: ['true'], prepare: [sh, -c, 'echo no room; exit 1']",
        "its preparation failed: no room",
    ),
    "is long in preparing": (
        "command: ['true'], prepare: [sleep, '60'], deadline: 1s",
        "its preparation did not end within 1 s",
    ),
    "prints no rate": (
        "command: [echo, hello], result: 'rate ([0-9]+)'",
        "nothing that it printed matches `result`; it said last: hello",
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_work_that_fails_is_named_and_the_rest_is_kept(
    delaylab: Run, tmp_path: Path, run_directory: Path, case: str
) -> None:
    job, said = FAILING[case]
    work = f"  - {{name: bad, on: b, {job}}}\n  - {{name: good, on: [a, b], cpu: 50}}"
    study = ran(delaylab, tmp_path, work)
    (trial,) = study.trials
    assert trial.status == "ok"
    done = {(each.work, each.node): each for each in trial.work}
    assert said in (done["bad", "b"].failed or "")
    assert done["good", "a"].rate
    assert done["good", "b"].rate
    (doubt,) = [each for each in trial.warnings if each.kind == "work-failed"]
    assert "the work of node 'b' failed" in doubt.message
    assert set(study.probes(trial.id)["outcome"]) == {"replied"}
    shown = delaylab("show", "out").stdout
    assert "failed" in shown
    assert not our_processes(str(run_directory))


def test_nobody_begins_before_all_are_ready(delaylab: Run, tmp_path: Path) -> None:
    """The preparation of `b` takes half a second; both begin after it."""
    at = "command: [date, +at %s%N], result: 'at ([0-9]+)'"
    slowly = f"prepare: [sh, -c, 'sleep 0.5; date +%s%N > {tmp_path}/p']"
    work = f"  - {{name: early, on: a, {at}}}\n  - {{name: late, on: b, {at}, {slowly}}}"
    (trial,) = ran(delaylab, tmp_path, work).trials
    prepared_ns = int((tmp_path / "p").read_text())
    began: dict[str, Any] = {each.work: each.rate for each in trial.work}
    assert min(began["early"], began["late"]) > prepared_ns
