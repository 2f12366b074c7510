"""Types and constants of all injectors."""

import ctypes
import time

Pairs = list[tuple[int, int]]
"""Times of start and end in ns since 1970; of a plan moments and lengths."""
Log = tuple[Pairs, Pairs]
"""Times of injections, and times that are in doubt."""
LIBC = ctypes.CDLL(None, use_errno=True)
PRIORITY = 60
SETTLED_NS = 20_000_000


def sleep_until(moment_ns: int) -> None:
    while (left_ns := moment_ns - time.time_ns()) > 0:
        time.sleep(left_ns / 1e9)
