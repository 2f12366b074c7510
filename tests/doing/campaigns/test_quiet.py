"""A worker sleeps while its machine measures."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from delaylab.machines import LOCAL
from tests.doing.campaigns.cluster import STUDY, cluster, study
from tests.doing.conftest import DELAYLAB
from tests.waiting import wait_until

pytestmark = pytest.mark.root

MOST_PER_S = 2.0
"""The most wake-ups of a worker in a second while a trial measures."""
LOOKED_S = 5.0
"""The time for which wake-ups are counted; the trial takes longer."""


def wake_ups(pid: int) -> int:
    """Return the number of times that threads of a process slept and were woken."""
    found = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                found += int(line.split()[1])
    return found


def test_a_worker_wakes_up_twice_a_second_at_most(tmp_path: Path) -> None:
    text = STUDY.replace("count: 20, interval: 5ms", "count: 3000, interval: 5ms")
    with cluster(tmp_path) as made:
        worker = made.worker("lab1")
        at_rest = wake_ups(worker.pid)
        time.sleep(1)
        at_rest = wake_ups(worker.pid) - at_rest
        run = subprocess.Popen(
            [
                DELAYLAB,
                "run",
                str(study(tmp_path, 1, text)),
                "--on",
                made.address,
                "--out",
                str(tmp_path / "data"),
            ],
            env=made.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # The timers stand still before the trial's lab is up.
        wait_until(lambda: bool(LOCAL.labs()) or run.poll() is not None)
        rate = _rate(worker.pid, LOOKED_S)
        assert run.poll() is None, "the trial measures still"
        run.wait()
    assert rate <= MOST_PER_S
    assert at_rest > rate, "heartbeats at rest are seen by the same count"


def _rate(pid: int, seconds: float) -> float:
    """Return the wake-ups in a second of a process, counted for some seconds."""
    before, began_s = wake_ups(pid), time.monotonic()
    time.sleep(seconds)
    return (wake_ups(pid) - before) / (time.monotonic() - began_s)
