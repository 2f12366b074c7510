"""Identification of processes by number and start time, which together are never reused."""

from __future__ import annotations

import os

_START = 22 - 3
"""The index of the start time in proc_pid_stat(5), counted from behind the name."""
_MOST = 4096


def started_at(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot; None if there is no such process.

    A zombie, which has ended but was not waited for, counts as none.
    """
    try:
        stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # One read has it all (the name is short), in half the time of a file object: `ps` asks for
        # each node.
        text = os.read(stat, _MOST)
    except OSError:
        return None
    finally:
        os.close(stat)
    # The name is in brackets, and may itself hold brackets and spaces.
    fields = text.rpartition(b")")[2].split()
    return None if fields[0] in b"ZX" else int(fields[_START])
