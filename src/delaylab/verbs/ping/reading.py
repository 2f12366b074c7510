"""Pings under way: what their agents report is read to the end, which Ctrl-C may bring about."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from delaylab.agent.replies import Event
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.stream import ready
from delaylab.io.interrupts import deferred
from delaylab.units import Duration
from delaylab.verbs.ping.result import PingPacket

End = Literal["done", "deadline", "interrupted"]
"""The end of a ping: by its last reply, its deadline, or Ctrl-C."""
DONE: End = "done"
OnPacket = Callable[[PingPacket], None]


@dataclass(eq=False)
class Reader:
    """One ping's session, and what is called with each packet that its agent reports.

    `failed` is why its request ended without an answer.
    """

    session: Session
    on_packet: OnPacket
    ended: bool = False
    failed: AgentError | None = None
    _reported: deque[PingPacket] = field(default_factory=deque)

    @property
    def busy(self) -> bool:
        """Return True if there is more to read, or to pass on."""
        return bool(self._reported) or not self.ended

    def pass_on(self) -> None:
        """Call `on_packet` with what was read; Ctrl-C leaves the rest for the next call."""
        while self._reported:
            self.on_packet(self._reported.popleft())

    def read(self) -> None:
        """Read once."""
        try:
            self.ended = self.session.poll_done(self._note)
        except AgentError as error:
            self.ended, self.failed = True, error

    def stop(self) -> None:
        """Ask the agent to end the ping, and to give what it has."""
        if not self.ended:
            try:
                self.session.stop()
            except AgentError as error:
                self.ended, self.failed = True, error

    def _note(self, event: Event) -> None:
        if event.packet is not None:
            self._reported.append(PingPacket.of(event.packet))


def finish(readers: Sequence[Reader], deadline: Duration | None = None) -> End:
    """Read pings to their end, which Ctrl-C or a deadline brings about; return what ended them.

    Raises KeyboardInterrupt at the second Ctrl-C.
    """
    until_s = None if deadline is None else time.monotonic() + deadline.seconds
    end = DONE
    while any(reader.busy for reader in readers):
        try:
            for reader in readers:
                reader.pass_on()
            waiting = {reader.session: reader for reader in readers if not reader.ended}
            if waiting:
                left_s = None if until_s is None else until_s - time.monotonic()
                found = ready(waiting, left_s)
                if not found:
                    until_s, end = None, "deadline"
                    _stop(readers)
                # What was read of a stream must not be lost to a Ctrl-C.
                with deferred():
                    for session in found:
                        waiting[session].read()
        except KeyboardInterrupt:
            if end == "interrupted":
                raise
            if end == DONE:
                _stop(readers)
            end = "interrupted"
    return end


def _stop(readers: Sequence[Reader]) -> None:
    for reader in readers:
        reader.stop()
