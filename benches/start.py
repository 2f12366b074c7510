"""Benchmark of the command line as a user types it: start-up, reports, and estimates."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benches import cleanup
from benches.section import Section

ROUNDS = 9
FIRST = 1
"""Calls that are not counted: the first reads the files from the disk."""
LAB = """\
lab: bench-start
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], name: wan, delay: 1ms}
"""
VERBS = (
    (("--help",), 0.25),
    (("ps",), 0.25),
    (("link", "show"), 0.25),
    (("exec", "a", "--", "true"), 0.25),
)
READERS = (("show", 1.5), ("report", 4.0))
ESTIMATE = re.compile(r"about ([\d.]+) (s|min)")


def run() -> Section:
    """Time each verb as a process, in turn, beside a Python that does nothing."""
    section = Section(
        "start",
        "Start-up of the command line",
        f"Whole processes, {ROUNDS} rounds in turn, with a lab of two nodes up; `show` and "
        "`report` of the quickstart's dataset; a quickstart beside what `--dry-run` said. "
        "`python -c pass` is the same Python, with nothing imported.",
        ("command", "seconds, median", "min … max", "goal"),
    )
    with tempfile.TemporaryDirectory(prefix="dl-") as name:
        folder = Path(name)
        environment = {**os.environ, "DELAYLAB_RUN": str(folder / "run")}
        (folder / "lab.yaml").write_text(LAB)
        (folder / "run").mkdir(mode=0o700)
        _called(["up", "lab.yaml"], folder, environment)
        try:
            # What the kernel still tears down would hold up the verbs that ask it.
            cleanup.wait()
            commands = [["-c", "pass"], *(["-m", "delaylab", *argv] for argv, _ in VERBS)]
            taken = _in_turn(commands, folder, environment)
        finally:
            _called(["down", "--all"], folder, environment)
        goals = ["", *(f"{goal} s" for _, goal in VERBS)]
        _add(section, ["python -c pass", *(" ".join(argv) for argv, _ in VERBS)], taken, goals)
        said_s, took_s = _quickstart(folder, environment)
        commands = [["-m", "delaylab", verb, "data"] for verb, _ in READERS]
        taken = _in_turn(commands, folder, environment)
        _add(section, [f"{verb} DIR" for verb, _ in READERS], taken, [f"{g} s" for _, g in READERS])
    section.rows.append(("run quickstart", f"{took_s:.1f}", "once", f"said {said_s:.0f} s ± 25 %"))
    return section


def _in_turn(
    commands: list[list[str]], folder: Path, environment: dict[str, str]
) -> list[list[float]]:
    """Return the seconds of each command's rounds; the commands take turns."""
    taken: list[list[float]] = [[] for _ in commands]
    for number in range(FIRST + ROUNDS):
        for command, times in zip(commands, taken, strict=True):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, *command],
                cwd=folder,
                env=environment,
                check=True,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )
            if number >= FIRST:
                times.append(time.perf_counter() - began)
    return taken


def _add(section: Section, names: list[str], taken: list[list[float]], goals: list[str]) -> None:
    for name, times, goal in zip(names, taken, goals, strict=True):
        spread = f"{min(times):.2f} … {max(times):.2f}"
        section.rows.append((f"`{name}`", f"{median(times):.2f}", spread, goal))


def _quickstart(folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Run the quickstart into `data`; return the seconds that it was said to take, and took."""
    said = ESTIMATE.search(_called(["run", "quickstart", "--dry-run"], folder, environment))
    assert said is not None
    began = time.perf_counter()
    _called(["run", "quickstart", "--out", "data"], folder, environment)
    return float(said[1]) * {"s": 1, "min": 60}[said[2]], time.perf_counter() - began


def _called(argv: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "delaylab", *argv],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
