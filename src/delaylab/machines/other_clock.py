"""The clock of another kernel, of a machine or a node, compared with this machine's."""

from __future__ import annotations

import time

from delaylab.agent.session import Session
from delaylab.agent.wire.measuring import Clock

READINGS = 20
"""The readings of another kernel's clock at once; the quickest answer counts."""
READ_EVERY_S = 1.0


class OtherClock:
    """The offset of another kernel's clock from this one's, read again while it is asked for.

    A reading is at most half of its round trip wrong, `bound_ns`.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._read_s = -READ_EVERY_S
        self._ahead_ns = 0
        self.bound_ns = 0

    def ahead_ns(self) -> int:
        """Return how far that clock is ahead of this one."""
        if time.monotonic() - self._read_s >= READ_EVERY_S:
            # From the least round trip, in which little can have held up either direction.
            round_ns, self._ahead_ns = min(self._reading() for _ in range(READINGS))
            self.bound_ns = round_ns // 2
            self._read_s = time.monotonic()
        return self._ahead_ns

    def _reading(self) -> tuple[int, int]:
        before = time.time_ns()
        there = self.session.call(Clock()).done.time_ns
        after = time.time_ns()
        return after - before, there - (before + after) // 2
