"""Identification of processes by number and start time, which together are never reused."""

from __future__ import annotations

from pathlib import Path

_START = 22 - 3
"""The index of the start time in proc_pid_stat(5), counted from behind the name."""


def started_at(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot; None if there is no such process.

    A zombie, which has ended but was not waited for, counts as none.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name is in brackets, and may itself hold brackets and spaces.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START])
