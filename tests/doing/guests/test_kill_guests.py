"""Containers and virtual machines: any process killed at any moment, nothing is left.

The lab is killed while it is brought up, and after: the command, the keeper, pid 1, a monitor,
QEMU, User-Mode Linux, the engine, a container's init, whatever there is at that moment.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from tests.doing.conftest import DELAYLAB, Run, our_processes
from tests.doing.labs.test_kill import children, command, kill
from tests.waiting import wait_until_gone

pytestmark = [pytest.mark.root, pytest.mark.timeout(1800)]
ROUNDS = int(os.environ.get("DELAYLAB_KILLS", "50"))
NAME = f"victims{os.getpid()}"
"""Two runs at once see each other's control groups."""
AT_MOST_S = 7.0
"""By then the slowest guest answers."""


def usable() -> list[str]:
    """The kinds of guests that this machine has, but for nested Xen, which takes minutes."""
    rights = LOCAL.rights()
    kinds = ("lxc", "docker", "qemu", "uml")
    return [name for name in kinds if KINDS[name].can_run(rights, False) is None]


def lab_of(kinds: list[str]) -> str:
    nodes = [
        f"  {name}: {{kind: {name}{', accel: tcg' if name == 'qemu' else ''}}}" for name in kinds
    ]
    return "\n".join(
        [f"lab: {NAME}", "nodes:", *nodes, "links:", f"  - join: [{', '.join(kinds)}]"]
    )


@pytest.mark.slow
def test_killed_at_random_moments(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    victims: dict[str, int] = {}
    choose = random.Random(2015)
    for _ in range(ROUNDS):
        name = round_of(choose, delaylab, tmp_path, run_directory)
        victims[name] = victims.get(name, 0) + 1
    assert len(victims) > 3, victims


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_a_few_moments(
    seed: int, delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    round_of(random.Random(seed), delaylab, tmp_path, run_directory)


def round_of(choose: random.Random, delaylab: Run, folder: Path, run_directory: Path) -> str:
    """Bring a lab of guests up, kill one process of it, and see that nothing is left."""
    kinds = usable()
    if len(kinds) < 2:
        pytest.skip("this machine has fewer than two kinds of guests")
    (folder / "lab.yaml").write_text(lab_of(choose.sample(kinds, 2)))
    up = subprocess.Popen(
        [str(DELAYLAB), "up", "lab.yaml"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(choose.uniform(0.4, AT_MOST_S))  # the moment is the test's random input
    pids = sorted(children(up.pid) | kept(run_directory)) or [up.pid]
    victim = choose.choice(pids)
    name = command(victim)
    kill(victim)
    if up.poll() is None:
        kill(up.pid)
    up.wait()
    for pid in kept(run_directory):
        if choose.random() < 0.2:
            kill(pid)
    delaylab("down", "--all")
    wait_until_gone(lambda: our_processes(str(run_directory)))
    assert list(run_directory.iterdir()) == []
    assert cgroups() == []
    assert str(run_directory) not in Path("/proc/mounts").read_text()
    return name


def kept(run_directory: Path) -> set[int]:
    """The keeper of a lab that is up, and all below it."""
    try:
        keeper = json.loads((run_directory / NAME / "lab.json").read_text())["keeper"]["pid"]
    except (OSError, ValueError):
        return set()
    return {keeper, *children(keeper)}


def cgroups() -> list[Path]:
    """Control groups of the lab, of any keeper."""
    top = Path("/sys/fs/cgroup")
    return [*top.glob(f"delaylab/{NAME}.*"), *top.glob(f"*/delaylab/{NAME}.*")]
