"""Location of the agent's binary, and a session with one of its processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from delaylab.agent.replies import Reply
from delaylab.agent.session import Session
from delaylab.agent.stream import Descriptors
from delaylab.errors import DelaylabError, NotHere
from delaylab.io.printable import one_line

NAME = "delaylab-agent"
ENDED_S = 5.0
"""The patience for an agent that runs outside of all labs to end with its session."""
LIBRARY = "lib/delaylab/libdelaylab_replay.so"


class CallsOfLog(Reply):
    """All calls of a recorded process in numbers, and what it was started with.

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
    exit: int | None
    executable: str
    argv: list[str]
    env: list[str]


def agent_path() -> Path:
    """Return the agent's path: $DELAYLAB_AGENT, beside this Python (a wheel), or on PATH.

    Raises NotHere if it is not installed.
    """
    given = os.environ.get("DELAYLAB_AGENT")
    if given:
        if not os.access(given, os.X_OK):
            raise NotHere(f"DELAYLAB_AGENT={given} is not a program", fix="unset it, or build it")
        return Path(given)
    beside = Path(sys.executable).parent / NAME
    if beside.exists():
        return beside
    found = shutil.which(NAME)
    if found is None:
        raise NotHere(f"{NAME} is not installed", fix="run `make setup` in the checkout")
    return Path(found)


def library_path() -> Path:
    """Return the path of the library that records and replays: in `lib` beside the agent's folder.

    Raises NotHere if it is not installed.
    """
    found = agent_path().parent.parent / LIBRARY
    if not found.exists():
        raise NotHere(f"{found} is not installed", fix="run `make setup` in the checkout")
    return found


def calls_of(log: Path) -> CallsOfLog:
    """Return what is in a log of a recorded process; raise DelaylabError if it is damaged."""
    tried = subprocess.run(
        [agent_path(), "calls", log], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        raise DelaylabError(one_line(tried.stderr.strip().removeprefix(f"{NAME}: ")))
    return CallsOfLog.model_validate_json(tried.stdout)


def kernel_parts() -> dict[str, str | None]:
    """Return the parts of the kernel that links can use: each with None, or why it is missing.

    The agent tries them in a network namespace of its own. Raises DelaylabError if that fails.
    """
    tried = subprocess.run([agent_path(), "kernel"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise DelaylabError(tried.stderr.strip().removeprefix(f"{NAME}: "))
    parts: dict[str, str | None] = json.loads(tried.stdout)
    return parts


def local_session() -> Session:
    """Start an agent as a child process in this process's network; it ends with the session."""
    process = subprocess.Popen(
        [agent_path(), "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for this process, which then stops the agent
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def close() -> None:
        stdin.close()
        # Closed first: an agent with more output would otherwise wait for a reader.
        stdout.close()
        try:
            process.wait(ENDED_S)
        except subprocess.TimeoutExpired:
            # Nothing waits for its results any more: an observer may be deep in a flood of changes.
            process.kill()
            process.wait()

    return Session(NAME, Descriptors(stdout.fileno(), stdin.fileno(), close))
