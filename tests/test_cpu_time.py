"""CPU time of virtual CPUs: that of the threads with their names, and of no others."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from delaylab.machines.control_groups import LocalControlGroup

BUSY_S = 0.2


def burn(name: str | None, seconds: float) -> None:
    """Use so much CPU time in a thread, under another name if one is given."""

    def work() -> None:
        if name is not None:
            Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name)
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        used.set()
        done.wait()

    used, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    used.wait()
    stops.append((done, thread))


stops: list[tuple[threading.Event, threading.Thread]] = []


@pytest.fixture
def group(tmp_path: Path) -> dict[str, str]:
    """A folder like that of a control group whose only process, in a group below, is this one."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "cgroup.procs").write_text("")
    (tmp_path / "inside" / "cgroup.procs").write_text(f"{os.getpid()}\n")
    return {"cpuacct": str(tmp_path)}


def test_only_threads_that_are_virtual_cpus_count(group: dict[str, str]) -> None:
    assert LocalControlGroup(group).vcpus_s() is None
    try:
        burn(None, 3 * BUSY_S)
        burn("CPU 0/TCG", BUSY_S)
        burn("CPU 1/TCG", BUSY_S)
        found = LocalControlGroup(group).vcpus_s()
    finally:
        for done, thread in stops:
            done.set()
            thread.join()
    # A thread's own clock and the kernel's account of it are the same time.
    assert found == pytest.approx(2 * BUSY_S, rel=0.2)


def test_a_group_that_is_gone_has_none(tmp_path: Path) -> None:
    assert LocalControlGroup({"unified": str(tmp_path / "gone")}).vcpus_s() is None
    assert LocalControlGroup({}).vcpus_s() is None
