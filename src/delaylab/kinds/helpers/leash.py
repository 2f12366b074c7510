"""The socket on which a container's monitor waits for the agent inside (docs/protocol.md, Guests).

The engine's program opens it before the container starts. It then tells the monitor if the
container ends before its agent has answered: the monitor would wait for it until its deadline.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from delaylab.errors import DelaylabError

FOLDER, NAME = "leash", "leash.sock"
DEADLINE_S, LOOK_S = 10.0, 0.01


def opened(guest: Path) -> int:
    """Return a descriptor of the socket in a guest's folder; wait until its monitor listens.

    The descriptor leads to that socket whatever the container does with its name. Raises
    DelaylabError after 10 s.
    """
    deadline_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            return os.open(guest / FOLDER / NAME, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            if time.monotonic() > deadline_s:
                raise DelaylabError("its monitor does not listen", str(guest)) from None
            # The standard library has no wait for a name (inotify). It is there in milliseconds.
            time.sleep(LOOK_S)


def report_end(monitor: int, why: str) -> None:
    """Tell a monitor that its container has ended. One that has its agent no longer listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream, suppress(OSError):
        stream.connect(f"/proc/self/fd/{monitor}")
        # A byte without a descriptor, where the agent would send one with it.
        stream.sendall(b"\0" + why.encode())
