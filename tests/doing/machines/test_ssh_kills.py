"""Labs over machines that are killed, cut off or restarted: whole, or nothing of them is left."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.doing.conftest import only_line
from tests.doing.machines.ssh_machines import (
    LAB,
    NEEDED,
    Lan,
    machines,
    two,
)
from tests.waiting import PATIENCE_S, wait_until

__all__ = ["machines", "two"]
pytestmark = NEEDED


HELD = LAB.replace("b: {host: h2}", "b: {host: h2, start: [{run: sleep 600, ready: {file: /x}}]}")
"""A lab whose `up` does not end by itself: a program never becomes ready."""


@pytest.mark.slow
def test_a_machine_that_cannot_be_reached_is_said_and_down_finishes_later(two: Lan) -> None:
    two.up(LAB)
    with two.hidden("m2"):
        unreachable(two)
    two.delaylab("down", "pair")
    two.wait_until_gone()
    assert not two.labs()


def unreachable(two: Lan) -> None:
    """Check what `ps` and `down` say of a lab whose machine m2 cannot be reached."""
    said = two.delaylab("ps").stdout
    assert "machine m2: cannot be reached" in said
    assert re.search(r"b +netns +h2 on m2 +unreachable", said), said
    failed = two.delaylab("down", "pair", code=1).stderr
    assert "its part is still on m2" in failed
    two.wait_until_gone("m1")
    assert two.traces("m2")
    said = two.delaylab("ps").stdout
    assert "machine m1: the lab was taken down there" in said
    assert "machine m2: cannot be reached" in said
    refused = two.delaylab("exec", "a", "--", "true", code=1).stderr
    assert only_line(refused) == "delaylab: machine m1: the lab was taken down there"


@pytest.mark.slow
def test_a_machine_that_is_cut_off_is_found_again(two: Lan) -> None:
    two.up(LAB)
    two.cut("m2")
    try:
        unreachable(two)
    finally:
        two.cut("m2", off=False)
    two.delaylab("down", "pair")
    two.wait_until_gone()
    assert not two.labs()


@pytest.mark.slow
def test_a_machine_that_restarts_has_lost_its_part(two: Lan) -> None:
    two.up(LAB)
    two.stop("m2")
    two.folder.joinpath("m2.log").unlink()
    two.start("m2")
    assert "machine m2: the lab has ended there" in two.delaylab("ps").stdout
    two.delaylab("down", "pair")
    two.wait_until_gone()


def held_up(two: Lan) -> subprocess.Popen[str]:
    """Return an `up` that has built its lab on both machines and waits for a program."""
    (two.folder / "held.yaml").write_text(HELD)
    process = subprocess.Popen(
        two.command("up", "held.yaml"),
        cwd=two.folder,
        env=two.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def started() -> bool:
        assert process.poll() is None, process.communicate()
        return "sleep 600" in two.on("m2", "ps", "-eo", "args")

    wait_until(started)
    return process


def kill_sessions(two: Lan, name: str) -> None:
    """Kill the sshds of a machine that serve a session, by their pids there."""
    sessions = two.on(name, "pgrep", "-f", "^sshd: root@notty").split()
    if sessions:
        two.on(name, "kill", "-9", *sessions)


def children(pid: int, name: str) -> list[int]:
    """Return the children of a process that run a program; none once it has ended."""
    found: list[int] = []
    with suppress(OSError):
        for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{each}/comm").read_text().strip() == name:
                found.append(int(each))
    return found


def test_a_killed_up_leaves_nothing(two: Lan) -> None:
    process = held_up(two)
    process.kill()
    process.communicate()
    two.wait_until_gone()


def test_a_killed_ssh_ends_the_lab_on_all_machines(two: Lan) -> None:
    process = held_up(two)
    os.kill(children(process.pid, "ssh")[1], signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "m2" in said, said
    two.wait_until_gone()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_kill_at_any_moment_of_up_leaves_all_or_nothing(two: Lan, seed: int) -> None:
    """The command, an ssh or an sshd is killed; a lab that is up then is whole, until `down`."""
    drawn = random.Random(seed)
    (two.folder / "lab.yaml").write_text(LAB)
    process = subprocess.Popen(
        two.command("up", "lab.yaml"),
        cwd=two.folder,
        env=two.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(drawn.uniform(0.2, 2.0))  # the moment is what is drawn
    victim = drawn.choice(["command", "ssh", "sshd"])
    if victim == "command":
        process.kill()
    elif victim == "ssh":
        for pid in children(process.pid, "ssh")[-1:]:
            os.kill(pid, signal.SIGKILL)
    else:
        kill_sessions(two, "m2")
    _, said = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in said, said
    labs = two.labs()
    if process.returncode == 0:
        assert labs
        assert labs[0]["unreachable"] == {}
    if labs:
        two.delaylab("down", "pair")
    two.wait_until_gone()


@pytest.mark.slow
def test_a_killed_sshd_ends_the_lab_on_all_machines(two: Lan) -> None:
    process = held_up(two)
    kill_sessions(two, "m2")
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "m2" in said, said
    two.wait_until_gone()


@pytest.mark.slow
def test_a_lab_of_this_name_that_is_up_there_is_not_touched(
    two: Lan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's machine starts a lab of the same name; then ours is refused, theirs stays."""
    own = tmp_path / "other"
    own.mkdir(mode=0o700)
    with monkeypatch.context() as patched:
        patched.setenv("DELAYLAB_RUN", str(own))
        two.up(LAB)
        before = two.labs()
    said = two.up(LAB, code=1)
    assert "machine m1: lab 'pair' is up there already (delaylab down pair --machine m1)" in said
    two.delaylab("ps", "--machine", "m1")
    assert [node["pid"] for lab in two.labs() for node in lab["nodes"]] == [
        node["pid"] for lab in before for node in lab["nodes"]
    ]
    two.delaylab("down", "pair")
