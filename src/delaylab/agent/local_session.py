"""A session with an agent that this process starts."""

from __future__ import annotations

import subprocess

from delaylab.agent.binary import NAME, agent_path
from delaylab.agent.session import Session
from delaylab.agent.stream import Descriptors

ENDED_S = 5.0
"""The patience for an agent that runs outside of all labs to end with its session."""


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
