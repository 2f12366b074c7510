"""The Python API on real labs: the same as the verbs, and nothing left behind."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import delaylab
import delaylab_study
from delaylab.lab.attach import attach
from delaylab.lab.programs.programs import states
from tests.doing.conftest import (
    Run,
    as_json,
    left_to_slow,
    our_processes,
    skip_unless_runnable,
)
from tests.doing.trials.test_study import STUDY
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("own_home")]
EXAMPLES = Path(__file__).parents[3] / "examples"


def left_behind(run_directory: Path) -> list[str]:
    """Everything of this test's labs that is still there."""
    return [str(path) for path in run_directory.iterdir()] + our_processes(str(run_directory))


def test_a_lab_lives_as_long_as_its_block(run_directory: Path) -> None:
    with delaylab.up(EXAMPLES / "testbed.yaml") as lab:
        assert lab.nodes == ["probe", "noisy", "echo"]
        probe, echo = lab.node("probe"), lab.node("echo")
        assert (probe.kind, probe.host) == ("netns", "sut")
        assert [*echo.addresses] == ["lan"]
        shown = probe.run(["ip", "-brief", "address"], check=True)
        assert probe.addresses["lan"][0] in shown.stdout
        assert Path(f"/proc/{probe.pid}").exists()
        assert left_behind(run_directory)
    assert left_behind(run_directory) == []


def test_a_command_gives_its_output_and_its_exit_code(run_directory: Path) -> None:
    with delaylab.up(EXAMPLES / "testbed.yaml") as lab:
        node = lab.node("probe")
        done = node.run(["sh", "-c", "cat; echo oops >&2; exit 3"], stdin="hello")
        assert (done.exit_code, done.stdout, done.stderr) == (3, "hello", "oops\n")
        assert node.run(["sh", "-c", "kill -9 $$"]).exit_code == 128 + 9
        with pytest.raises(delaylab.CommandFailed, match="probe: false: exit code 1"):
            node.run(["false"], check=True)
        with pytest.raises(delaylab.DelaylabError, match=r"did not end within 0\.2 s"):
            node.run(["sleep", "60"], timeout_s=0.2)
        with pytest.raises(delaylab.DelaylabError, match=r"did not end within 0\.2 s"):
            node.run(["sleep", "60"], timeout_s=0.2, stdin="x" * 1_000_000)
        counted = node.run(["wc", "-c"], stdin="x" * 1_000_000, timeout_s=60)
        assert counted.stdout.strip() == "1000000"
        assert node.run(["true"], stdin="x" * 1_000_000, timeout_s=60).exit_code == 0
        with pytest.raises(delaylab.BadInput, match="a command is a list of words"):
            node.run("ip addr")
        with pytest.raises(delaylab.BadInput, match="no node 'prob'"):
            lab.node("prob")
        assert node.run(["true"]).exit_code == 0
    assert left_behind(run_directory) == []


LAB = """
lab: wan
hosts: {sut: {}}
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], name: sea, delay: 5ms}
"""


@pytest.fixture
def command(request: pytest.FixtureRequest) -> Run:
    """The command line; the fixture's own name is the package's here."""
    run: Run = request.getfixturevalue("delaylab")
    return run


@pytest.fixture
def wan(command: Run, tmp_path: Path, run_directory: Path) -> Iterator[delaylab.RunningLab]:
    """A lab that the command line started."""
    file = tmp_path / "wan.yaml"
    file.write_text(LAB)
    command("up", str(file))
    yield delaylab.attach("wan")
    command("down", "--all")
    assert left_behind(run_directory) == []


def test_a_running_lab_is_attached_to_and_its_links_are_set(
    wan: delaylab.RunningLab, command: Run
) -> None:
    assert (wan.name, wan.nodes, wan.links) == ("wan", ["a", "b"], ["sea"])
    assert delaylab.attach().name == "wan"
    sea = wan.link("sea")
    sea.set(delay="40ms")
    sea.set(node="a", delay="80ms", rate="10Mbit", queue=100)
    assert sea.conditions == {"a": "delay=80ms rate=10Mbit queue=100", "b": "delay=40ms"}
    shown = as_json(command("link", "show", "--json"))
    asked = {
        each["node"]: each["asked"]["delay_ns"]
        for engine in shown["engines"]
        for each in engine["directions"]
        if each["node"]
    }
    assert asked == {"a": 80_000_000, "b": 40_000_000}
    found = wan.node("a").ping(wan.node("b"), count=3, interval="10ms")
    assert all((packet.rtt_user_ns or 0) >= 120_000_000 for packet in found.packets)
    sea.set(node="a", rate=None, queue=None)
    assert sea.conditions["a"] == "delay=80ms"
    for wrong, says in (
        ({"delay": "much"}, "delay"),
        ({"delai": "1ms"}, "delai"),
        ({}, "no condition is given"),
        ({"delay": "1ms", "node": "c"}, "not on link"),
    ):
        with pytest.raises(delaylab.BadInput, match=says):
            sea.set(**wrong)
    with pytest.raises(delaylab.BadInput, match="no link 'lake'"):
        wan.link("lake")


def test_a_lab_that_is_not_up_is_not_attached_to(run_directory: Path) -> None:
    with pytest.raises(delaylab.BadInput, match="no lab 'wan' is up"):
        delaylab.attach("wan")


def test_a_program_of_a_node_outlives_its_caller_and_ends_with_the_lab(
    wan: delaylab.RunningLab, command: Run
) -> None:
    script = """
import delaylab
node = delaylab.attach("wan").node("a")
print(node.start(["sh", "-c", "echo begins; exec sleep 1000"], name="long").pid)
"""
    argv = [sys.executable, "-c", script]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True)
    node = wan.node("a")
    again = node.start(["sleep", "1000"], name="long")
    assert again.name == "long2"
    shown = as_json(command("ps", "--json"))
    (of_a, of_b) = shown["labs"][0]["nodes"]
    assert [(each["name"], each["state"]) for each in of_a["programs"]] == [
        ("long", "running"),
        ("long2", "running"),
    ]
    assert of_a["programs"][0]["pid"] == int(ran.stdout)
    assert of_b["programs"] == []
    assert command("logs", "a", "long").stdout == "begins\n"
    assert again.running
    assert again.stop() == again.state == "ended by signal 15"
    assert again.stop() == "ended by signal 15"
    assert not again.running
    assert node.run(["kill", "-0", ran.stdout.strip()]).exit_code == 0


def test_a_program_is_ready_when_its_call_returns(wan: delaylab.RunningLab) -> None:
    node = wan.node("b")
    server = "import socket,time; s=socket.create_server(('', 7)); print('up'); time.sleep(1000)"
    web = node.start(["python3", "-uc", server], ready={"tcp": 7}, env={"WHO": "x"})
    assert (web.name, web.state) == ("python3", "running")
    assert wan.node("a").run(["python3", "-c", CONNECT, node.addresses["sea"][0]]).exit_code == 0
    assert web.output == "up\n"
    deaf = "trap '' TERM; echo deaf; while :; do sleep 1; done"
    stubborn = node.start(["sh", "-c", deaf], ready={"prints": "deaf"})
    assert stubborn.stop(timeout="100ms") == "ended by signal 9"
    with pytest.raises(delaylab.DelaylabError, match="No such file"):
        node.start(["no-such-program"])
    with pytest.raises(delaylab.DelaylabError, match="before it was ready: broken"):
        node.start(["sh", "-c", "echo broken; exit 3"], ready={"tcp": 9})
    for wrong in ({"ready": {"tcp": 0}}, {"name": "../x"}, {"timeout": "soon"}):
        with pytest.raises(delaylab.BadInput):
            node.start(["sleep", "1"], **wrong)
    with pytest.raises(delaylab.BadInput, match="list of words"):
        node.start("sleep 1")


CONNECT = "import socket,sys; socket.create_connection((sys.argv[1], 7), 10)"


@pytest.mark.usefixtures("built_images")
@pytest.mark.parametrize("kind", ["shared", "lxc", *left_to_slow("docker", "qemu")])
def test_every_kind_of_node_starts_programs(kind: str, run_directory: Path) -> None:
    skip_unless_runnable(kind)
    nodes = {"a": {"kind": kind}, "b": {}}
    links = [{"between": ["a", "b"], "name": "sea"}]
    lab = {"lab": "kinds", "hosts": {"sut": {}}, "nodes": nodes, "links": links}
    with delaylab.up(delaylab.load(lab)) as running:
        node = running.node("a")
        started = node.start(["sh", "-c", "echo begins; exec sleep 1000"], ready={"prints": "b"})
        assert (started.running, started.output) == (True, "begins\n")
        assert node.run(["kill", "-0", str(started.pid)]).exit_code == 0
        assert started.stop() == "ended by signal 15"
    assert left_behind(run_directory) == []


def test_an_error_in_the_block_takes_the_lab_down(run_directory: Path) -> None:
    with pytest.raises(KeyError), delaylab.up(EXAMPLES / "testbed.yaml"):
        raise KeyError
    assert left_behind(run_directory) == []


def test_a_lab_does_not_outlive_its_process(run_directory: Path) -> None:
    script = f"""
import delaylab, os, signal
with delaylab.up({str(EXAMPLES / "testbed.yaml")!r}) as lab:
    print(lab.node("probe").run(["true"]).exit_code, lab.node("probe").pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.returncode == -9
    code, pid = ran.stdout.split()
    assert code == "0"
    # The keeper ends the lab once its stdin, which the killed process held, is closed.
    handle = _pidfd(int(pid))
    if handle is not None:
        assert select.select([handle], [], [], PATIENCE_S)[0]
        os.close(handle)


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def test_a_ping_from_here_and_from_a_node() -> None:
    here = delaylab.ping("127.0.0.1", count=3, interval="10ms")
    assert (here.sent, here.replied, here.late, here.lost) == (3, 3, 0, 0)
    with delaylab.up(EXAMPLES / "testbed.yaml") as lab:
        echo = lab.node("echo")
        there = lab.node("probe").ping(echo, count=3, interval="10ms")
        assert there.address == echo.addresses["lan"][0]
    for found in (here, there):
        assert found.replied == 3
        assert found.added_ns is not None
        for packet in found.packets:
            assert packet.rtt_user_ns is not None
            assert packet.rtt_kernel_ns is not None
            assert packet.added_ns == packet.rtt_user_ns - packet.rtt_kernel_ns > 0


def test_a_study_runs_and_is_read_back(tmp_path: Path, run_directory: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    only = {"environment": ["netns"], "load": ["rest", "cpu"]}
    ran = delaylab_study.run(study, only=only, out=tmp_path / "out")
    assert left_behind(run_directory) == []
    assert [trial.status for trial in ran.trials] == ["ok"] * 2
    again = delaylab_study.read(tmp_path / "out")
    assert again.packets.equals(ran.packets)
    answered = again.packets.drop_nulls("rtt_user_ns")
    assert len(answered.filter(phase="load")) >= 100
    keys = ("trial", "probe", "seq")
    sums = again.segments(phase=None).group_by(keys).agg(pl.col("delay_ns").sum())
    both = answered.join(sums, on=keys)
    assert (both["delay_ns"] == both["rtt_user_ns"]).all()
    (claim,) = again.claims()
    assert claim.verdict == "not testable here"


def test_programs_of_a_node_with_copies_of_folders_are_known(run_directory: Path) -> None:
    """Such a node keeps the state of programs that start later in its own `/run`."""
    nodes = {"a": {"files": {"/etc/delaylab-test": "x"}}, "b": {}}
    lab = {"lab": "later", "nodes": nodes, "links": [{"between": ["a", "b"]}]}
    with delaylab.up(delaylab.load(lab)) as running:
        running.node("a").start(["sleep", "1000"], name="late")
        assert [each.name for each in states(attach(None))["a"]] == ["late"]
    assert left_behind(run_directory) == []
