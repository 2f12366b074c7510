"""`delaylab noise`: a program that takes one CPU is found there, with the time that it took."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, Run, as_json
from tests.hogging import hogging
from tests.waiting import wait_until


def test_who_takes_a_cpu_is_named_there_with_its_time(delaylab: Run) -> None:
    name, cpu = f"hog-{os.getpid()}", max(os.sched_getaffinity(0))
    with hogging(name, cpu) as clock:
        began_s, began = time.monotonic(), time.clock_gettime(clock)
        done = delaylab("noise", "-w", "4s", "--json", code=1)
        took = (time.clock_gettime(clock) - began) / (time.monotonic() - began_s)
    found = as_json(done)
    assert not found["quiet"]
    assert found["verdict"].startswith("not quiet: ")
    there = next(each for each in found["cpus"] if each["cpu"] == cpu)
    assert [each["cpu"] for each in found["cpus"]] == sorted(os.sched_getaffinity(0))
    assert took / 2 < there["programs_s"][name] / found["seconds"] < 2 * took
    assert all(name not in each["programs_s"] for each in found["cpus"] if each is not there)
    # Whatever else ran there took time, too.
    lost = there["lost_s"] / there["watched_s"]
    others = sum(there["programs_s"].values()) - there["programs_s"][name]
    others += there["steal_s"] + there["softirq_s"]
    ended = sum(s for each, s in found["programs_s"].items() if each.startswith("children of "))
    assert took / 2 < lost < 2 * (took + (others + ended) / found["seconds"])
    assert there["watched_s"] < found["seconds"] * 1.01
    assert found["programs_s"][name] == pytest.approx(there["programs_s"][name])
    longest = [each["took_ns"] for each in found["hiccups"]]
    assert longest == sorted(longest, reverse=True)
    assert longest[0] == found["longest_ns"]


def test_ctrl_c_ends_it_with_what_was_seen() -> None:
    with subprocess.Popen(
        [str(DELAYLAB), "noise", "-w", "1h"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until(lambda: bool(_spinning(process.pid)))
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            text = process.stdout.read()
        finally:
            process.kill()
    assert process.returncode in (0, 1)
    assert "quiet: " in text.splitlines()[-1]
    assert "interrupted after " in text


def _spinning(parent: int) -> list[str]:
    """The threads of a process's child, if they are there: one, and one for each CPU."""
    agents = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = [[each.name for each in Path(f"/proc/{agent}/task").iterdir()] for agent in agents]
    least = 1 + len(os.sched_getaffinity(0))
    return next((each for each in found if len(each) >= least), [])


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("0.5s", "delaylab: --for is at least 1s"),
        ("2h", "delaylab: --for is at most 1h"),
        ("soon", "delaylab: --for: "),
    ],
)
def test_an_impossible_time_is_one_line(delaylab: Run, given: str, line: str) -> None:
    done = delaylab("noise", "-w", given, code=2)
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(line)
    assert not done.stdout
