"""Control groups outside the lab that keep a CPU busy, by what they say themselves."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.packets.agents import Agent, agent_binary
from tests.waiting import wait_until_gone

INTERVAL_NS = 50_000_000
LONG_S = 3.5
"""Readings are a second apart, or more on a busy machine."""
LOOP = """\
echo 0 > "$1"/cgroup.procs || exit 1
end=$(($(date +%s%N) + $2))
while [ "$(date +%s%N)" -lt "$end" ]; do :; done
"""
"""Joins a group and starts short-lived children there for some time, in ns."""


def of_version_1(group: Path) -> float:
    """The CPU time of a group in s."""
    return int((group / "cpuacct.usage").read_text()) / 1e9


def of_version_2(group: Path) -> float:
    """The CPU time of a group in s."""
    words = (group / "cpu.stat").read_text().split()
    return int(words[words.index("usage_usec") + 1]) / 1e6


@dataclass(frozen=True)
class Made:
    """A control group of the test's own, and how its CPU time is read."""

    folder: Path
    used_s: Callable[[Path], float]


@pytest.fixture(params=["cgroup", "cgroup2"])
def made(request: pytest.FixtureRequest) -> Iterator[Made]:
    """Make a group below the root of a hierarchy, and remove it."""
    version = str(request.param)
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [
        Path(root)
        for _, root, kind, options, *_ in mounts
        if kind == version and (kind == "cgroup2" or "cpuacct" in options.split(","))
    ]
    if not roots:
        pytest.skip(f"no {version} hierarchy that counts CPU time is mounted")
    folder = roots[0] / f"busy.{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no group can be made in {roots[0]}: {error}")
    try:
        yield Made(folder, of_version_2 if version == "cgroup2" else of_version_1)
    finally:
        wait_until_gone(lambda: (folder / "cgroup.procs").read_text().split())
        folder.rmdir()


def watched(made: Made, long_s: float) -> tuple[pl.DataFrame, list[tuple[int, float]]]:
    """Return the agent's samples of the machine, and the group's own counter at each time."""
    seen: list[tuple[int, float]] = []
    # Not by `ip netns exec`, which hides control groups.
    agent = Agent(str(agent_binary()), "serve")
    try:
        agent.start({"op": "watch", "interval_ns": INTERVAL_NS, "places": []})
        command = ["sh", "-c", LOOP, "sh", str(made.folder), str(int(long_s * 1e9))]
        with subprocess.Popen(command) as loop:
            while loop.poll() is None:
                seen.append((time.time_ns(), made.used_s(made.folder)))
                time.sleep(0.01)  # a witness of the same time
        assert loop.returncode == 0
        return agent.stop().tables["hosts"], seen
    finally:
        agent.close()


def readings_of(hosts: pl.DataFrame) -> list[int]:
    return hosts.filter(pl.col("metric") == "processes")["time_ns"].to_list()


def test_a_group_counts_the_children_that_ended(made: Made) -> None:
    """Between two readings the group has the CPU time that its own counter says."""
    # On a busy machine a reading takes longer, and the next one comes later.
    for times_as_long in (1, 4, 16):
        hosts, seen = watched(made, LONG_S * times_as_long)
        named = hosts.filter(pl.col("metric") == f"group.{made.folder.name}")
        at = dict(named.select("time_ns", "value").iter_rows())
        # Where groups of the other hierarchy took more CPU time meanwhile, those are named.
        pairs = [each for each in pairwise(readings_of(hosts)) if each[1] in at]
        if pairs:
            break
    assert pairs
    times, used = np.array(seen).T
    for since, until in pairs:
        before, after = np.interp([since, until], times, used)
        assert at[until] * (until - since) / 1e9 == pytest.approx(after - before, rel=0.1, abs=0.05)
    assert max(at.values()) > 0.1
