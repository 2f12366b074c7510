"""Work of a study on real nodes: barrier, progress, results, and work that fails."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import delaylab_study as delaylab_api
from delaylab_study.dataset import store
from delaylab_study.dataset.records.work import Figure
from delaylab_study.dataset.store import Study
from tests.doing.conftest import (
    DELAYLAB,
    Run,
    left_to_slow,
    our_processes,
    pid_in_container,
    skip_unless_runnable,
)
from tests.images.conftest import NEEDS_APT
from tests.waiting import wait_until

pytestmark = pytest.mark.root
PROBE = "probe: {from: a, to: b, count: 20, interval: 5ms, at_rest: 4}"


def ran(delaylab: Run, folder: Path, work: str, kind: str = "netns", link: str = "") -> Study:
    """A study of one trial with this work on nodes `a` and `b`."""
    other = "netns" if kind == "shared" else kind  # a host has one stack to share
    nodes = f"a: {{kind: {kind}, host: one}}, b: {{kind: {other}, host: one}}"
    lab = (
        f"lab: {{lab: two, hosts: {{one: {{}}}}, nodes: {{{nodes}}}, "
        f"links: [{{between: [a, b], name: lan{link}}}]}}"
    )
    text = f"study: s\n{lab}\nfactors: {{}}\n{PROBE}\nwork:\n{work}\n"
    (folder / "s.yaml").write_text(text)
    delaylab("run", "s.yaml", "--out", "out")
    return store.read_study(folder / "out")


@NEEDS_APT
@pytest.mark.parametrize("kind", ["netns", *left_to_slow("lxc", "shared", "docker", "qemu")])
def test_all_work_is_done_and_told_on_each_kind(delaylab: Run, tmp_path: Path, kind: str) -> None:
    skip_unless_runnable(kind)
    study = ran(
        delaylab,
        tmp_path,
        "  - {name: count, on: [a, b], cpu: 600}\n"
        "  - {name: send, on: a, to: b, tcp: 1s}\n"
        "  - {name: say, on: b, command: [sh, -c, 'echo did 1 >&2; echo rate 2.5'], unit: x/s,\n"
        "     progress: 'did ([0-9]+)', result: 'rate ([0-9.]+)',\n"
        "     figures: {did: {find: 'did ([0-9]+)', unit: ns}}}",
        kind,
    )
    (trial,) = study.trials
    assert not [each for each in trial.warnings if each.kind == "work-failed"]
    done = {(each.work, each.node): each for each in trial.work}
    assert list(done) == [("count", "a"), ("count", "b"), ("send", "a"), ("say", "b")]
    assert (done["say", "b"].rate, done["say", "b"].unit) == (2.5, "x/s")
    assert done["say", "b"].figures == [Figure(name="did", value=1.0, unit="ns")]
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


@NEEDS_APT
@pytest.mark.parametrize("kind", ["netns", *left_to_slow("lxc", "docker", "qemu")])
def test_nuttcp_tells_what_arrived(delaylab: Run, tmp_path: Path, kind: str) -> None:
    """The link lets 20 Mbit/s through, with the headers of TCP, IP and Ethernet."""
    skip_unless_runnable(kind)
    study = ran(
        delaylab,
        tmp_path,
        "  - {name: one, on: a, to: b, tcp: 2s, by: nuttcp}\n"
        "  - {name: other, on: b, to: a, tcp: 2s, by: nuttcp}",
        kind,
        link=", rate: 20Mbit",
    )
    (trial,) = study.trials
    assert [each.failed for each in trial.work] == [None, None]
    progress = study.progress(trial.id)
    for done in trial.work:
        assert done.unit == "bit/s"
        assert done.rate is not None
        assert done.rate < 20e6
        steps = progress.filter(progress["work"] == done.work)
        assert steps["done"].is_sorted()
        assert steps["done"][-1] <= done.rate * (done.wall_ns or 0) / 1e9
        assert len(steps) > 5


def test_a_stream_to_nobody_is_said(delaylab: Run, tmp_path: Path) -> None:
    """Its link loses all packets."""
    work = "  - {name: one, on: a, to: b, tcp: 1s, by: nuttcp, deadline: 20s}"
    (trial,) = ran(delaylab, tmp_path, work, link=", rate: 20Mbit, loss: 100%").trials
    assert trial.work[0].failed == "nuttcp could not connect to its server"


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
    "prints no figure": (
        "command: [echo, hello], figures: {slowest: {find: 'slowest ([0-9]+)'}}",
        "nothing that it printed matches `figures.slowest`; it said last: hello",
    ),
}


def test_work_that_fails_is_named_and_the_rest_is_kept(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    names = {case: case.replace(" ", "-") for case in FAILING}
    bad = [f"  - {{name: {names[case]}, on: b, {job}}}" for case, (job, _) in FAILING.items()]
    study = ran(delaylab, tmp_path, "\n".join([*bad, "  - {name: good, on: [a, b], cpu: 50}"]))
    (trial,) = study.trials
    assert trial.status == "ok"
    done = {(each.work, each.node): each for each in trial.work}
    doubts = [each.message for each in trial.warnings if each.kind == "work-failed"]
    assert len(doubts) == len(FAILING)
    for (case, (_, said)), doubt in zip(FAILING.items(), doubts, strict=True):
        assert said in (done[names[case], "b"].failed or ""), case
        assert "the work of node 'b' failed" in doubt
        assert said in doubt
    assert done["good", "a"].rate
    assert done["good", "b"].rate
    assert set(study.probes(trial.id)["outcome"]) == {"replied"}
    shown = delaylab("show", "out").stdout
    assert "failed" in shown
    assert not our_processes(str(run_directory))


@NEEDS_APT
def test_a_guest_that_died_is_there_again_in_the_next_trial(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    skip_unless_runnable("lxc")
    name = f"{random.SystemRandom().randrange(10**9, 10**10)}"
    (tmp_path / "s.yaml").write_text(
        "study: s\nlab: {lab: one, hosts: {h: {}}, nodes: {n: {kind: lxc, host: h}}}\n"
        f"factors: {{}}\nwork: [{{name: w, on: n, command: [sleep, '2.{name}']}}]\nrepeat: 2\n"
    )
    run = subprocess.Popen([DELAYLAB, "run", "s.yaml", "--out", "out"], cwd=tmp_path)
    try:
        wait_until(lambda: bool(running(f"sleep\0002.{name}")))
        (program,) = running(f"sleep\0002.{name}")
        os.kill(init_of(program), signal.SIGKILL)
        assert run.wait(60) == 0
    finally:
        run.kill()
        run.wait()
    failed = [trial.work[0].failed for trial in store.read_study(tmp_path / "out").trials]
    assert [why is None for why in failed] == [False, True]
    assert not our_processes(str(run_directory))


def running(command: str) -> list[int]:
    """The processes with this command line, whose arguments end with a null byte each."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and (folder / "cmdline").read_text() == f"{command}\0":
                found.append(int(folder.name))
    return found


def init_of(pid: int) -> int:
    """The ancestor of a process in a container that is the container's process 1."""
    if pid_in_container(pid) == 1:
        return pid
    return init_of(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))


@NEEDS_APT
@pytest.mark.slow
def test_the_driver_domain_is_told_apart_from_those_that_work(
    delaylab: Run, tmp_path: Path
) -> None:
    """Domain `b` does twice the work of `a` beside it, and a third one does nothing."""
    skip_unless_runnable("xen")
    node = "{kind: xen, host: h}"
    (tmp_path / "s.yaml").write_text(
        "study: s\n"
        f"lab: {{lab: x, hosts: {{h: {{}}}}, nodes: {{a: {node}, b: {node}, c: {node}}}}}\n"
        "factors: {}\nwork: [{name: half, on: a, cpu: 10000, deadline: 5min},\n"
        "  {name: all, on: b, cpu: 20000, deadline: 5min}]\n"
    )
    delaylab("run", "s.yaml", "--out", "out")
    (trial,) = store.read_study(tmp_path / "out").trials
    assert [each.failed for each in trial.work] == [None, None]
    used_s = {each.domain: each.cpu_ns / 1e9 for each in trial.domains}
    assert set(used_s) == {"Domain-0", "a", "b", "c"}
    assert used_s["b"] / used_s["a"] == pytest.approx(2, rel=0.3)
    assert used_s["c"] < used_s["a"] / 2
    assert "CPU time of its domains: Domain-0 " in delaylab("show", "out").stdout


def test_nobody_begins_before_all_are_ready(delaylab: Run, tmp_path: Path) -> None:
    """The preparation of `b` takes half a second; both begin after it."""
    at = "command: [date, +at %s%N], result: 'at ([0-9]+)'"
    slowly = f"prepare: [sh, -c, 'sleep 0.5; date +%s%N > {tmp_path}/p']"
    work = f"  - {{name: early, on: a, {at}}}\n  - {{name: late, on: b, {at}, {slowly}}}"
    (trial,) = ran(delaylab, tmp_path, work).trials
    prepared_ns = int((tmp_path / "p").read_text())
    began: dict[str, Any] = {each.work: each.rate for each in trial.work}
    assert min(began["early"], began["late"]) > prepared_ns
