"""Killed observers, nodes and labs: what is seen of it, and that nothing is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from delaylab.agent.binary import agent_path
from delaylab.agent.result import AgentError, AgentGone
from delaylab.lab.routing.observer import observing
from delaylab.lab.start import temporary
from tests.doing.conftest import NOBODY, python_for_all
from tests.doing.labs.test_kill import children
from tests.doing.routing.observed import CHAIN, QUIET_S, everywhere, lab_of, observers, shown
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.root


def test_an_observer_that_is_killed_is_missed() -> None:
    before = set(observers())
    with temporary(lab_of(CHAIN)) as lab:
        with observing(lab) as observer:
            (pid,) = set(observers()) - before
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(AgentGone, match="observer is gone"):
                observer.settled(QUIET_S, 10)
        assert set(observers()) == before
        with observing(lab) as observer:
            assert observer.tables == everywhere(lab)


def test_a_node_whose_agent_is_killed_has_no_routes_and_its_network_is_gone() -> None:
    """The observer's sockets would keep it alive, and its neighbours would not notice."""
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        os.kill(lab.pid(lab.agent_name("r2")), signal.SIGKILL)
        wait_until(lambda: bool(observer.changes(1)) and not observer.tables["r2"], 10)
        observer.settled(QUIET_S, 5)
        assert not any(link.up for (node, _), link in observer.links.items() if node == "r2")
        assert not observer.links["r1", "middle"].up
        assert not observer.links["b", "far"].up
        assert observer.tables["a"] == shown(lab, "a")


def test_a_lab_that_ends_ends_its_observation() -> None:
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        os.kill(lab.keeper.pid, signal.SIGKILL)
        with pytest.raises(AgentError, match="all of them are gone"):
            wait_until(lambda: not observer.changes(1))


OBSERVING = """
import sys
from delaylab.lab.routing.observer import observing
from delaylab.lab.start import temporary
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

with temporary(lab_from(parse(sys.argv[1], "lab.yaml"))) as lab, observing(lab) as observer:
    print(len(observer.tables["r1"]), flush=True)
    while True:
        observer.changes(60)
"""


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_an_observer_ends_with_its_client(user: str, run_directory: Path) -> None:
    """Also in a lab of an ordinary user, who may observe only from inside its user namespace."""
    python, identity = sys.executable, None
    if user == "nobody":
        python, run_directory = python_for_all(), run_directory / "nobody"
        run_directory.mkdir(mode=0o700)
        run_directory.parent.chmod(0o711)
        os.chown(run_directory, NOBODY, NOBODY)
        identity = NOBODY
    environment = {
        **os.environ,
        "DELAYLAB_RUN": str(run_directory),
        "DELAYLAB_AGENT": str(agent_path()),
        "PYTHONPATH": ":".join(path for path in sys.path if path),
        "HOME": str(run_directory),
    }
    argv = [python, "-c", OBSERVING, CHAIN]
    with subprocess.Popen(
        argv,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        user=identity,
        group=identity,
        extra_groups=[] if identity else None,
    ) as it:
        assert it.stdout is not None
        assert int(it.stdout.readline()) >= 4
        agents = [os.pidfd_open(pid) for pid in children(it.pid)]
        assert len(agents) >= 2, "the lab's keeper and the observer"
        it.kill()
    for agent in agents:
        assert select.select([agent], [], [], PATIENCE_S)[0], "it still runs"
        os.close(agent)
