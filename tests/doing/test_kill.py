"""Any process killed at any moment: nothing is left, and nothing finished is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from delaylab import dataset
from tests.doing.conftest import DELAYLAB, Run, our_processes
from tests.doing.test_study import STUDY

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(1800)]
ROUNDS = int(os.environ.get("DELAYLAB_KILLS", "50"))
ROUND_S = 2.5


def cgroups_of(pid: int) -> list[Path]:
    """Control groups of labs that a process made: their names have its pid."""
    top = Path("/sys/fs/cgroup")
    names = f"delaylab/small-{pid:x}-*"
    return [*top.glob(names), *top.glob(f"*/{names}")]


def test_killed_at_random_moments(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    choose = random.Random(2011)
    text = STUDY.replace("count: 60, interval: 4ms", "count: 30, interval: 4ms")
    text = text.replace("claims:", "repeat: 40\nclaims:")
    (tmp_path / "study.yaml").write_text(text)
    argv = ["run", "study.yaml", "--only", "load=rest", "--out", "out"]
    finished: dict[str, bytes] = {}
    killed: dict[str, int] = {}
    for _ in range(ROUNDS):
        process = subprocess.Popen(
            [str(DELAYLAB), *argv],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(choose.uniform(0.3, ROUND_S))  # the moment is the test's random input
        victims = sorted(children(process.pid)) if choose.random() < 0.6 else [process.pid]
        victim = choose.choice(victims or [process.pid])
        name = command(victim)
        killed[name] = killed.get(name, 0) + 1
        kill(victim)
        if victim != process.pid:
            time.sleep(choose.uniform(0, 0.2))
            kill(process.pid)
        process.wait()
        delaylab("down", "--all")
        wait_until_gone(run_directory)
        assert cgroups_of(process.pid) == []
        assert list(run_directory.iterdir()) == []
        if (tmp_path / "out" / "study.json").exists():
            argv = ["run", "--resume", "out"]
        trials = (tmp_path / "out" / "trials").glob("[!.]*/trial.json")
        now = {path.parent.name: path.read_bytes() for path in trials}
        assert {name: now.get(name) for name in finished} == finished
        finished = now
    assert len(killed) > 1, killed
    for trial in dataset.read_study(tmp_path / "out").trials:
        assert trial.status in ("ok", "failed")


def children(pid: int) -> set[int]:
    """All descendants of a process."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        try:
            path = Path(f"/proc/{waiting[0]}/task/{waiting.pop(0)}/children")
            direct = {int(child) for child in path.read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            continue
        waiting += direct
        found |= direct
    return found


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "gone"


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_until_gone(run_directory: Path) -> None:
    deadline = time.monotonic() + 10
    while our_processes(str(run_directory)) and time.monotonic() < deadline:
        time.sleep(0.02)  # the kernel ends the lab's processes; there is nothing to wait on
    assert our_processes(str(run_directory)) == []
