"""Commands that watch routing daemons, and what they watch, killed at seeded moments."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from delaylab.lab.attach import attach
from tests.doing.conftest import DELAYLAB, Run, only_line, our_processes
from tests.doing.labs.test_kill import Victims, children
from tests.doing.labs.test_kill import command as process_name
from tests.doing.routing.test_routing import ring
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.root, pytest.mark.timeout(3600)]
MANY, FEW = int(os.environ.get("DELAYLAB_KILLS", "50")), 5
SEED = int(os.environ.get("DELAYLAB_SEED", "38"))
VICTIMS = ("command", "observer", "daemon", "agent", "engine")
PROGRAMS = ("bgpd", "zebra")
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

    def __init__(self, delaylab: Run, folder: Path, run_directory: Path) -> None:
        self.delaylab, self.run_directory = delaylab, run_directory
        self.file = folder / "ring.yaml"
        self.file.write_text(LAB)
        delaylab("up", str(self.file))

    def round(self, choose: random.Random, victim: str) -> None:
        """Kill one thing while `converge` runs; the lab is then right again, or leaves nothing."""
        command = subprocess.Popen(
            [str(DELAYLAB), *WATCH], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(choose.uniform(0.5, 4))  # the moment is the test's random input
        below = children(command.pid)
        router, program = f"r-{choose.randint(1, 4)}", choose.choice(PROGRAMS)
        if victim == "daemon":
            os.kill(daemon(router, program), signal.SIGKILL)
            wait_until(lambda: "ended by signal 9" in self.delaylab("ps").stdout)
        elif victim == "agent":
            os.kill(agent(f"node.{router}"), signal.SIGKILL)
        elif victim == "engine":
            os.kill(agent("link.here"), signal.SIGKILL)
        elif victim == "observer" and below:
            os.kill(choose.choice(sorted(below)), signal.SIGKILL)
        else:
            command.kill()
        out, err = command.communicate(timeout=PATIENCE_S)
        if err:
            assert only_line(err).startswith("delaylab: "), out + err
        wait_until(lambda: not [pid for pid in below if Path(f"/proc/{pid}").exists()])
        if victim in ("agent", "engine"):
            self._replace(router if victim == "agent" else "link.here")
        else:
            self._mend(router if victim == "daemon" else None, program)

    def _mend(self, router: str | None, program: str) -> None:
        """Start a killed daemon again; all tables become right."""
        if router is not None:
            self.delaylab("node", "start", "ring", router, "--program", program)
        self.delaylab("link", "up", "ring", "b")
        assert "all forwarding tables are right" in self.delaylab("converge", "ring").stdout

    def _replace(self, dead: str) -> None:
        """Bring the lab up anew: `ps` and `converge` name what is dead, `down` leaves nothing."""
        assert any(
            dead in each and "dead" in each for each in self.delaylab("ps").stdout.splitlines()
        )
        again = self.delaylab("converge", "ring", "--down", "b", "--timeout", "1s", code=1)
        assert dead in only_line(again.stderr)
        self.down()
        self.delaylab("up", str(self.file))

    def down(self) -> None:
        self.delaylab("down", "ring")
        assert list(self.run_directory.iterdir()) == []
        assert our_processes(str(self.run_directory)) == []


def agent(name: str) -> int:
    """Return the pid of an agent of the lab as this machine counts."""
    return attach("ring").pid(name)


def daemon(router: str, program: str) -> int:
    """Return a daemon's pid as this machine counts; its network namespace is the router's."""
    network = network_of(agent(f"node.{router}"))
    everywhere = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    named = [pid for pid in everywhere if process_name(pid) == program]
    found = [pid for pid in named if network_of(pid) == network]
    assert len(found) == 1, found
    return found[0]


def network_of(pid: int) -> Path | None:
    """Return the name of a process' network namespace; None if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/ns/net").readlink()
    return None


def rounds(delaylab: Run, folder: Path, run_directory: Path, count: int) -> None:
    watched = Watched(delaylab, folder, run_directory)
    choose = random.Random(SEED)
    for number in range(count):
        victim = VICTIMS[number % len(VICTIMS)]
        print(f"seed {SEED}, round {number}: {victim}")
        watched.round(choose, victim)
    states = json.loads(delaylab("ps", "--json").stdout)
    assert "ended" not in json.dumps(states)
    watched.down()


def test_nothing_is_left_of_some_watches_that_are_killed(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """Each thing once."""
    rounds(delaylab, tmp_path, run_directory, FEW)


@pytest.mark.slow
def test_nothing_is_left_of_watches_that_are_killed(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    rounds(delaylab, tmp_path, run_directory, MANY)


@pytest.mark.slow
def test_no_finished_trial_of_events_is_lost(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    victims = Victims(delaylab, tmp_path, run_directory, STUDY, [])
    victims.kill(SEED, MANY // 2, 20.0)
    assert victims.finished, "no trial was ever finished: nothing could be lost"
