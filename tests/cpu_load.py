"""A load of tests that keeps all CPUs busy for some time, and leaves them alone for some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

LOAD = """
import os, sys, time
on, off = (list(map(float, each.split(","))) for each in sys.argv[2:4])
print(flush=True)
turn, at = 0, time.monotonic()
while os.getppid() == int(sys.argv[1]):
    busy_until = at + on[turn % len(on)]
    print(time.time_ns(), round(1e9 * (busy_until - at)), flush=True)
    at = busy_until + off[turn % len(off)]
    turn += 1
    while time.monotonic() < busy_until:
        pass
    time.sleep(max(0.0, at - time.monotonic()))
"""
"""Takes a CPU for each time of the first list, then rests for one of the second, in turn."""
OF_EACH_CPU = 2


@dataclass
class Loaded:
    """Times of a load that ended, in ns since 1970: each with its begin and its end."""

    times_ns: list[tuple[int, int]] = field(default_factory=list)

    def rests_at(self, time_ns: int, margin_ns: int = 200_000_000) -> bool:
        """True if no program of the load ran then, nor shortly before or after."""
        return not any(
            begin - margin_ns < time_ns < end + margin_ns for begin, end in self.times_ns
        )


@contextmanager
def loading(on_s: Sequence[float], off_s: Sequence[float]) -> Iterator[Loaded]:
    """Load all CPUs twice by turns; all programs begin and rest at the same time.

    The times of the load are known once the block has ended.
    """
    loaded = Loaded()
    times = [",".join(map(str, each)) for each in (on_s, off_s)]
    asked = [sys.executable, "-c", LOAD, str(os.getpid()), *times]
    programs = []
    try:
        for _ in range(OF_EACH_CPU * len(os.sched_getaffinity(0))):
            programs.append(subprocess.Popen(asked, stdout=subprocess.PIPE))
        for each in programs:
            assert each.stdout is not None
            each.stdout.readline()
        yield loaded
    finally:
        for each in programs:
            each.kill()
            told = each.communicate()[0].decode().splitlines()
            for line in told:
                if len(words := line.split()) == 2:
                    begin_ns, length_ns = map(int, words)
                    loaded.times_ns.append((begin_ns, begin_ns + length_ns))
