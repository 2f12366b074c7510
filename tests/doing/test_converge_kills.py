"""Commands that watch routing daemons, and what they watch, killed at seeded moments (slow)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, Run, only_line, our_processes, wait_until
from tests.doing.test_kill import Victims, children
from tests.doing.test_routing import ring

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(3600)]
MANY = int(os.environ.get("DELAYLAB_KILLS", "50"))
SEED = 38
QUICK = "bgp: {keepalive: 1s, hold: 3s}"
"""The protocol that is up first: a session ends 3 s after the last message."""
LAB = ring("frr", ("ip: [4, 6]", "ip: [4]"), ("ospf: {hello: 1s, dead: 4s}", QUICK))
WATCH = ["converge", "ring", "--silence", "b", "--up", "b", "--timeout", "10s"]
STUDY = f"""\
study: killed
lab:
{"".join(f"  {line}" for line in LAB.strip().splitlines(keepends=True))}
  timeline: [{{at: 500ms, down: a}}, {{at: 2s, up: a}}]
factors: {{}}
scales: {{quick: {{repeat: 1000}}}}
"""


class Watched:
    """A lab of four routers, of which one thing is killed in each round of `converge`."""

    def __init__(self, delaylab: Run, folder: Path) -> None:
        self.delaylab = delaylab
        file = folder / "ring.yaml"
        file.write_text(LAB)
        delaylab("up", str(file))

    def round(self, choose: random.Random, victim: str) -> None:
        """Kill the command, its observer or a daemon; all is right again afterwards."""
        command = subprocess.Popen(
            [str(DELAYLAB), *WATCH], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(choose.uniform(0.5, 4))  # the moment is the test's random input
        below = children(command.pid)
        router = f"r-{choose.randint(1, 4)}"
        if victim == "daemon":
            self.delaylab("node", "kill", "ring", router, "--program", "bgpd")
            assert "ended by signal 9" in self.delaylab("ps").stdout
        elif victim == "observer" and below:
            os.kill(choose.choice(sorted(below)), signal.SIGKILL)
        else:
            command.kill()
        out, err = command.communicate(timeout=60)
        if victim == "observer" and below and command.returncode not in (0, -signal.SIGKILL):
            assert only_line(err).startswith("delaylab: "), out + err
        wait_until(lambda: not [pid for pid in below if Path(f"/proc/{pid}").exists()])
        self._mend(router if victim == "daemon" else None)

    def _mend(self, router: str | None) -> None:
        if router is not None:
            self.delaylab("node", "start", "ring", router, "--program", "bgpd")
        self.delaylab("link", "up", "ring", "b")
        assert "all forwarding tables are right" in self.delaylab("converge", "ring").stdout


def rounds(delaylab: Run, folder: Path, run_directory: Path, count: int) -> None:
    watched = Watched(delaylab, folder)
    choose = random.Random(SEED)
    for number in range(count):
        victim = ("command", "observer", "daemon")[number % 3]
        print(f"seed {SEED}, round {number}: {victim}")
        watched.round(choose, victim)
    states = json.loads(delaylab("ps", "--json").stdout)
    assert "ended" not in json.dumps(states)
    delaylab("down", "ring")
    assert list(run_directory.iterdir()) == []
    assert our_processes(str(run_directory)) == []


def test_nothing_is_left_of_watches_that_are_killed(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    rounds(delaylab, tmp_path, run_directory, MANY)


def test_no_finished_trial_of_events_is_lost(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    victims = Victims(delaylab, tmp_path, run_directory, STUDY, [])
    victims.kill(SEED, MANY // 2, 20.0)
    assert victims.finished, "no trial was ever finished: nothing could be lost"
