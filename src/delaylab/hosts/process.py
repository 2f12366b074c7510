"""Processes by number and start, which together are one process's for ever."""

from __future__ import annotations

from pathlib import Path

_START = 22 - 3
"""The field of proc_pid_stat(5), counted from behind the name."""


def started_at(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if there is no such process.

    One that has ended and was not waited for is none.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name is in brackets, and may hold brackets and spaces.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START])
