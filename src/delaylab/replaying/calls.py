"""Logs of recorded processes, which the agent's binary reads."""

from __future__ import annotations

import subprocess
from pathlib import Path

from delaylab.agent.binary import agent_path
from delaylab.agent.failures import failed_command
from delaylab.agent.replies import Reply

MOST_BYTES = 1 << 30
"""The longest log (`LIMIT` in `crates/replay/src/recorder.rs`)."""


class CallsOfLog(Reply):
    """All calls of a recorded process in numbers, and what it was started with.

    `objects` are the paths by which its libraries were loaded. `unseen` are functions that it
    called and that are not recorded.

    `plain_bytes` is the length that the log would have if each call stood for itself, and
    `plain_input_bytes` that of its inputs alone. Those at the `start` are from before the process
    waited for the first time; those that are `late` are of the second half of the recorded time,
    which took `late_s`.
    """

    calls: int
    outputs: int
    signals: int
    threads: int
    bytes: int
    plain_bytes: int
    plain_input_bytes: int
    start_bytes: int
    plain_start_bytes: int
    plain_start_input_bytes: int
    late_bytes: int
    plain_late_bytes: int
    plain_late_input_bytes: int
    late_s: float
    unseen: list[str]
    exit: int | None
    executable: str
    objects: list[str]
    argv: list[str]
    env: list[str]


def calls_of(log: Path) -> CallsOfLog:
    """Return what is in a log of a recorded process; raise DelaylabError if it is damaged."""
    tried = subprocess.run(
        [agent_path(), "calls", log], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        raise failed_command(tried.stderr)
    return CallsOfLog.model_validate_json(tried.stdout)
