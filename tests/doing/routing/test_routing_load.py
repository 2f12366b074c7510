"""Routing daemons on a busy machine, and killed at any moment (slow)."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.tables import differences
from delaylab.lab.start import temporary
from delaylab.plan.routed_topology import topology
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from tests.doing.conftest import DELAYLAB, Run, our_processes
from tests.doing.routing.observed import everywhere
from tests.doing.routing.test_routing import ring

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(3600)]
STARTS, KILLS, SEED = 50, 30, 38
STRESS = ["stress-ng", "--cpu", "4", "--timeout", "1h"]


@contextlib.contextmanager
def stressed() -> Iterator[None]:
    """Keep all CPUs busy with other programs."""
    with subprocess.Popen(STRESS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as load:
        try:
            yield
        finally:
            load.terminate()


def test_no_start_fails_or_returns_early_beside_load() -> None:
    with stressed():
        for number in range(STARTS):
            daemon = ("frr", "bird")[number % 2]
            text = ring(daemon, ("ip: [4, 6]", "ip: [4]"))
            with temporary(lab_from(parse(text, "ring.yaml"))) as lab:
                wanted = expected_tables(topology(lab.spec, lab.plan))
                assert differences(wanted, everywhere(lab)) == [], f"start {number} returned early"


def test_nothing_is_left_of_a_start_that_is_killed(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    drawn = random.Random(SEED)
    file = tmp_path / "ring.yaml"
    for number in range(KILLS):
        file.write_text(ring(("frr", "bird")[number % 2]))
        with subprocess.Popen(
            [str(DELAYLAB), "up", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as up:
            with contextlib.suppress(subprocess.TimeoutExpired):
                up.wait(drawn.uniform(0.1, 4))
            if up.poll() is None:
                up.send_signal(signal.SIGKILL)
        delaylab("down", "--all")
        assert list(run_directory.iterdir()) == []
        assert our_processes(str(run_directory)) == []


def test_a_lab_is_clear_after_its_daemons_and_agents_are_killed(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    drawn = random.Random(SEED)
    file = tmp_path / "ring.yaml"
    file.write_text(ring("frr", ("ip: [4, 6]", "ip: [4]")))
    for _ in range(5):
        delaylab("up", str(file))
        delaylab("node", "kill", "ring", f"r-{drawn.randint(1, 4)}", "--program", "zebra")
        assert "ended by signal 9" in delaylab("ps").stdout
        again = delaylab("node", "start", "ring", "r-1", "r-2", "r-3", "r-4", "--program", "zebra")
        assert again.stdout.count("started") == 4
        delaylab("down", "ring")
        assert list(run_directory.iterdir()) == []
        assert our_processes(str(run_directory)) == []
