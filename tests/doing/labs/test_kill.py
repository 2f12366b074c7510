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

from delaylab_study.dataset import store
from tests.doing.conftest import DELAYLAB, Run, our_processes, skip_unless_runnable
from tests.doing.trials.test_study import STUDY
from tests.waiting import wait_until_gone

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(7200)]
KILLS = os.environ.get("DELAYLAB_KILLS")
SMALL = STUDY.replace("count: 60, interval: 4ms", "count: 30, interval: 4ms").replace(
    "claims:", "repeat: 40\nclaims:"
)
EVERYTHING = """\
study: everything
lab:
  lab: small
  hosts: {sut: {}, target: {}}
  nodes:
    probe: {kind: lxc, host: sut}
    vm: {kind: uml, host: sut}
    other: {kind: netns, host: sut}
    echo: {kind: netns, host: target}
  links:
    - {between: [probe, echo], name: wan, delay: 2ms, loss: 0.1%}
    - {join: [vm, other, echo], name: lan, rate: 100Mbit}
factors:
  size: {small: {probe.size: 64}, large: {probe.size: 1000}}
probe: {from: probe, to: echo, count: 20, interval: 4ms, at_rest: 5, late: 300ms}
repeat: 400
"""
"""Links with conditions on two hosts, a container and a machine."""


def cgroups_of(pid: int) -> list[Path]:
    """Control groups of labs that a process made: their names have its pid."""
    top = Path("/sys/fs/cgroup")
    names = f"delaylab/small-{pid:x}-*"
    return [*top.glob(names), *top.glob(f"*/{names}")]


def test_killed_at_random_moments(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    argv = ["--only", "load=rest"]
    Victims(delaylab, tmp_path, run_directory, SMALL, argv).kill(2011, int(KILLS or 50), 2.5)


def test_all_of_a_lab_killed_at_random_moments(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    for kind in ("lxc", "uml"):
        skip_unless_runnable(kind)
    victims = Victims(delaylab, tmp_path, run_directory, EVERYTHING, [])
    victims.kill(2026, int(KILLS or 200), 6.0)
    assert victims.finished, "no trial was ever finished: nothing could be lost"
    # Of all that a lab is made of: the command, keeper, agents, link engines, LXC, the machine.
    assert {"delaylab", "lxc-start", "linux"} <= set(victims.killed), victims.killed


class Victims:
    """A study that is killed again and again, and resumed."""

    def __init__(
        self, delaylab: Run, folder: Path, run_directory: Path, study: str, argv: list[str]
    ) -> None:
        self.delaylab, self.folder, self.run_directory = delaylab, folder, run_directory
        (folder / "study.yaml").write_text(study)
        self.argv = ["run", "study.yaml", *argv, "--out", "out"]
        self.finished: dict[str, bytes] = {}
        self.killed: dict[str, int] = {}

    def kill(self, seed: int, rounds: int, at_most_s: float) -> None:
        """Kill a process of the study in each round; nothing is left, nothing finished is lost."""
        choose = random.Random(seed)
        for number in range(rounds):
            print(f"seed {seed}, round {number}: {len(self.finished)} trials, {self.killed}")
            self.round(choose, choose.uniform(0.3, at_most_s))
        assert len(self.killed) > 1, self.killed
        for trial in store.read_study(self.folder / "out").trials:
            assert trial.status in ("ok", "failed")

    def round(self, choose: random.Random, moment_s: float) -> None:
        process = subprocess.Popen(
            [str(DELAYLAB), *self.argv],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment_s)  # the moment is the test's random input
        victims = sorted(children(process.pid)) if choose.random() < 0.8 else [process.pid]
        victim = choose.choice(victims or [process.pid])
        name = command(victim)
        self.killed[name] = self.killed.get(name, 0) + 1
        kill(victim)
        if victim != process.pid:
            time.sleep(choose.uniform(0, 0.2))
            kill(process.pid)
        process.wait()
        self.delaylab("down", "--all")
        wait_until_gone(lambda: our_processes(str(self.run_directory)))
        assert cgroups_of(process.pid) == []
        assert list(self.run_directory.iterdir()) == []
        assert str(self.run_directory) not in Path("/proc/mounts").read_text()
        if (self.folder / "out" / "study.json").exists():
            self.argv = ["run", "--resume", "out"]
        trials = (self.folder / "out" / "trials").glob("[!.]*/trial.json")
        now = {path.parent.name: path.read_bytes() for path in trials}
        assert {name: now.get(name) for name in self.finished} == self.finished
        self.finished = now


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
