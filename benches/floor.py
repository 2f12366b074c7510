"""How late a CPU is of itself: what no engine on it can be better than."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from time import monotonic_ns

EVERY_NS = 10_000
FOR_NS = 500_000_000
REALTIME_PRIORITY = 20


def floor(cpu: int) -> tuple[float, float]:
    """Median and 99th percentile, in µs, of how late moments are found to have come.

    It does nothing but look at the clock, for half a second on this CPU, for moments 10 µs apart:
    what is left are the kernel's own work, and what the machine under a virtual CPU does with it.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benches.floor", str(cpu)],
        check=True,
        capture_output=True,
        text=True,
    )
    middle, far = done.stdout.split()
    return float(middle), float(far)


def _watch() -> list[int]:
    """How late each moment was found to have come, in ns."""
    late: list[int] = []
    began_ns = seen_ns = monotonic_ns()
    due_ns, end_ns = began_ns + EVERY_NS, began_ns + FOR_NS
    while seen_ns < end_ns:
        seen_ns = monotonic_ns()
        while due_ns <= seen_ns:
            late.append(seen_ns - due_ns)
            due_ns += EVERY_NS
    return late


def _main() -> None:
    os.sched_setaffinity(0, {int(sys.argv[1])})
    # Where this is not allowed, the engine is an ordinary process, too.
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    late = sorted(_watch())
    print(late[len(late) // 2] / 1e3, late[len(late) * 99 // 100] / 1e3)


if __name__ == "__main__":
    _main()
