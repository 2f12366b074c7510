"""Benchmark of campaigns: two workers against one, and what a worker costs a trial."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.doing.campaigns.cluster import STUDY, Cluster, cluster, study

from benches.command import DELAYLAB, run_to_end
from benches.section import Section

REPEATS, TRIALS = 8, 16
ROUNDS = 3
WAITING = STUDY.replace("count: 20, interval: 5ms", "count: 100, interval: 50ms")
"""Trials of 5 s that mostly wait, of labs that stay up from one trial to the next."""


def run() -> Section:
    """Time a study without workers, with one and with two, in turn."""
    section = Section(
        "campaigns",
        "A study on two workers",
        f"`delaylab run STUDY` and `run STUDY --on SCHEDULER`, {TRIALS} trials that mostly wait, "
        f"from the command's start to its report; medians of {ROUNDS} rounds, in turn. Scheduler "
        "and workers are processes on this computer, which share its two CPUs. Goals: two workers "
        "give at least 1.9 times one; a worker adds at most 100 ms to a trial.",
        ("trials run", "seconds", "min … max", "beside one worker", "more than here, ms a trial"),
    )
    taken: dict[str, list[float]] = {"here": [], "on one worker": [], "on two workers": []}
    for _ in range(ROUNDS):
        with _started() as made:
            taken["here"].append(_seconds(made, on=False))
            made.worker("lab1")
            taken["on one worker"].append(_seconds(made, on=True))
            made.worker("lab2")
            taken["on two workers"].append(_seconds(made, on=True))
    here, one, _ = taken.values()
    for where, times in taken.items():
        faster = statistics.median(a / b for a, b in zip(one, times, strict=True))
        more_ms = statistics.median(
            1000 * (b - a) / TRIALS for a, b in zip(here, times, strict=True)
        )
        section.rows.append(
            (
                where,
                f"{statistics.median(times):.1f}",
                f"{min(times):.1f} … {max(times):.1f}",
                f"{faster:.2f} times" if times is not here else "–",
                f"{more_ms:.0f}" if times is one else "–",
            )
        )
    return section


@contextmanager
def _started() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="dlb-") as name, cluster(Path(name)) as made:
        study(made.folder, REPEATS, WAITING)
        made.environment["DELAYLAB_RUN"] = name
        yield made


def _seconds(made: Cluster, *, on: bool) -> float:
    """Run the study into a dataset that is then gone; return the seconds of the whole command."""
    with tempfile.TemporaryDirectory(dir=made.folder) as folder:
        where = ["--on", made.address] if on else []
        out = str(Path(folder) / "data")
        began = time.monotonic()
        run_to_end(
            [str(DELAYLAB), "run", str(made.folder / "study.yaml"), "--out", out, *where],
            made.environment,
        )
        return time.monotonic() - began
