"""The Python API on real labs: the same as the verbs, and nothing left behind."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import delaylab
from tests.doing.conftest import our_processes
from tests.doing.test_study import STUDY

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("own_home")]
EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def left_behind(run_directory: Path) -> list[str]:
    """Everything of this test's labs that is still there."""
    return [str(path) for path in run_directory.iterdir()] + our_processes(str(run_directory))


def test_a_lab_lives_as_long_as_its_block(run_directory: Path) -> None:
    with delaylab.up(EXAMPLES / "testbed.yaml") as lab:
        assert lab.nodes == ["probe", "noisy", "echo"]
        probe, echo = lab.node("probe"), lab.node("echo")
        assert (probe.kind, probe.host) == ("netns", "sut")
        assert echo.addresses == {"lan": ["198.18.0.3"]}
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
        assert select.select([handle], [], [], 20)[0]
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
        there = lab.node("probe").ping(lab.node("echo"), count=3, interval="10ms")
    assert there.address == "198.18.0.3"
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
    ran = delaylab.run(study, only=only, out=tmp_path / "out")
    assert left_behind(run_directory) == []
    assert [trial.status for trial in ran.trials] == ["ok"] * 2
    again = delaylab.read(tmp_path / "out")
    assert again.packets.equals(ran.packets)
    answered = again.packets.drop_nulls("rtt_user_ns")
    assert len(answered.filter(phase="load")) >= 100
    keys = ("trial", "probe", "seq")
    sums = again.segments(phase=None).group_by(keys).agg(pl.col("delay_ns").sum())
    both = answered.join(sums, on=keys)
    assert (both["delay_ns"] == both["rtt_user_ns"]).all()
    (claim,) = again.claims()
    assert claim.verdict == "not testable here"
