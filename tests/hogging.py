"""A program of a test that takes a CPU in bursts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

HOG = """
import os, sys, time
open("/proc/self/comm", "w").write(sys.argv[1])
os.sched_setaffinity(0, {int(sys.argv[2])})
print(flush=True)
while os.getppid() == int(sys.argv[3]):
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        pass
    time.sleep(0.03)
"""
"""Takes its CPU every other 30 ms, as long as its parent lives."""


@contextmanager
def hogging(name: str, cpu: int) -> Iterator[int]:
    """Run a program of this name that takes a CPU in bursts; yield the clock of its CPU time."""
    asked = [sys.executable, "-c", HOG, name, str(cpu), str(os.getpid())]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield (~process.pid << 3) | 2  # clock_getcpuclockid(3)
        finally:
            process.kill()
