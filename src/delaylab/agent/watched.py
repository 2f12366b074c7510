"""Sessions whose requests go on while another one is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from delaylab.agent.session import Session
from delaylab.agent.stream import Loop, readable


class Watched(Protocol):
    """A session, or a node at its job, that is watched while another session's request runs."""

    def fileno(self) -> int:
        """Return the descriptor that is readable when there is something to check."""

    def check(self) -> bool:
        """Read what has come; return False once there is nothing more to watch."""


def wait_watching(session: Session, others: Sequence[Watched]) -> None:
    """Finish one session's request; raise at once if a request of another one fails or ends."""
    loop = Loop()
    for other in others:
        loop.add(other, other.check)
    loop.add(session, lambda: True)
    loop.run(lambda: session.has_frames or readable(session, 0))
    session.finish()
