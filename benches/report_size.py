"""Report time and memory for a dataset of 10 million stamps.

Run: python benches/report_size.py [--trials N] [--stamps N]
Prints one line: stamps, trials, seconds and peak resident memory of writing the report.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.synthetic import Condition, queue, write  # noqa: E402

STATIONS = 11
CHILD = """
import resource, sys, time
from pathlib import Path
from delaylab.report.html import write_report
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


def main() -> None:
    """Generate, report in a process of its own, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--stamps", type=int, default=10_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        start = time.perf_counter()
        generate(directory, asked.stamps, asked.trials)
        print(f"generated in {time.perf_counter() - start:.1f} s", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, place],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(ROOT / "src")},
        )
    seconds, kib = done.stdout.split()
    print(
        f"{asked.stamps} stamps in {asked.trials} trials: report in {float(seconds):.1f} s, "
        f"peak memory {int(kib) / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
