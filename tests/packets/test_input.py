"""Input that a session sends to a command (`exec`)."""

from __future__ import annotations

import time

from delaylab.agent.session import STDIN_WINDOW
from delaylab.agent.wire.sessions import Exec
from delaylab.machines import LOCAL


def test_input_for_a_command_that_has_ended_is_not_waited_for() -> None:
    """Such as one that writes to a disk that is full."""
    session = LOCAL.session()
    try:
        result = session.start(Exec(argv=["true"], stdin=True))
        for _ in range(40):
            session.stdin(bytes(STDIN_WINDOW // 4), time.monotonic() + 10)
        session.finish(10)
        assert result.done.exit == 0
    finally:
        session.close()
