"""Benchmark of reports on 10 and 100 million stamps: time and memory, each in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.synthetic import Condition, queue, write

from benches.section import Section

SIZES = ((10_000_000, 6), (10_000_000, 1), (100_000_000, 60), (100_000_000, 6))
"""The stamps of a dataset, and its trials."""
STATIONS = 11
CHILD = """
import resource, sys, time
from pathlib import Path
from delaylab_study.report.html import write_report
start = time.perf_counter()
write_report(Path(sys.argv[1]))
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def generate(directory: Path, stamps: int, trials: int) -> None:
    """Write a study of netns trials whose stamps sum to about `stamps`."""
    packets = stamps // trials // STATIONS
    loads = ["network", "rest", "cpu", "io", "disk", "memory"]
    conditions = [
        Condition(
            load=loads[index % len(loads)],
            repeat=1 + index // len(loads),
            packets=packets,
            interval_ns=100_000,
            delays={("request", "sender.uplink"): queue(900)},
            seed=index,
        )
        for index in range(trials)
    ]
    write(directory, conditions, ["network-adds-most", "sending-not-receiving", "minimum-helps"])


def run() -> Section:
    """Measure seconds and peak resident memory of writing the report, by size of the dataset."""
    section = Section(
        "report",
        "Report on 100 million stamps",
        "Stamps of a known truth under six loads, in few long trials and in many. Goal: 100 "
        "million under 60 s and 2 GiB.",
        ("stamps", "trials", "seconds", "peak memory, MiB"),
    )
    for stamps, trials in SIZES:
        with tempfile.TemporaryDirectory() as place:
            generate(Path(place), stamps, trials)
            seconds, kib = _measured(place)
        section.rows.append((str(stamps), str(trials), f"{seconds:.1f}", f"{kib / 1024:.0f}"))
    return section


def _measured(place: str) -> tuple[float, int]:
    """Return the child's own wall time in s and its peak resident memory in KiB."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, place],
        check=True,
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )
    seconds, kib = done.stdout.split()
    return float(seconds), int(kib)
