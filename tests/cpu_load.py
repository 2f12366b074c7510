"""A load of tests that keeps all CPUs busy for some time, and leaves them alone for some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

LOAD = """
import os, sys, time
on, off = (list(map(float, each.split(","))) for each in sys.argv[2:4])
print(flush=True)
turn, at = 0, time.monotonic()
while os.getppid() == int(sys.argv[1]):
    busy_until = at + on[turn % len(on)]
    at = busy_until + off[turn % len(off)]
    turn += 1
    while time.monotonic() < busy_until:
        pass
    time.sleep(max(0.0, at - time.monotonic()))
"""
"""Takes a CPU for each time of the first list, then rests for one of the second, in turn."""
OF_EACH_CPU = 2


@contextmanager
def loading(on_s: Sequence[float], off_s: Sequence[float]) -> Iterator[None]:
    """Load all CPUs twice by turns; all programs begin and rest at the same time."""
    times = [",".join(map(str, each)) for each in (on_s, off_s)]
    asked = [sys.executable, "-c", LOAD, str(os.getpid()), *times]
    programs = []
    try:
        for _ in range(OF_EACH_CPU * len(os.sched_getaffinity(0))):
            programs.append(subprocess.Popen(asked, stdout=subprocess.PIPE))
        for each in programs:
            assert each.stdout is not None
            each.stdout.readline()
        yield
    finally:
        for each in programs:
            each.kill()
            each.wait()
            if each.stdout is not None:
                each.stdout.close()
