"""Pings under way: what their agents report is read to the end, which Ctrl-C may bring about."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from delaylab.agent.events import Event
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


class ReadBeside(Protocol):
    """A session that is read while pings are under way, and does not keep them from ending."""

    session: Session
    ended: bool

    def read(self) -> None:
        """Read once."""


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


def deadline_s(after: Duration | None) -> float | None:
    """Return when a deadline that counts from now ends, in s of the monotonic clock."""
    return None if after is None else time.monotonic() + after.seconds


def finish(readers: Sequence[Reader], until_s: float | None = None, *beside: ReadBeside) -> End:
    """Read pings to their end, which Ctrl-C or a deadline brings about; return what ended them.

    `until_s` is the deadline, in s of the monotonic clock. What is `beside` is read meanwhile.
    Raises KeyboardInterrupt at the second Ctrl-C.
    """
    reading = _Reading(readers, until_s, beside)
    # The loop is inside, since a first Ctrl-C at any point of it must be caught.
    while True:
        try:
            return reading.to_the_end()
        except KeyboardInterrupt:
            reading.interrupt()


class _Reading:
    """Pings that are read side by side, and what has ended them so far."""

    def __init__(
        self, readers: Sequence[Reader], until_s: float | None, beside: Sequence[ReadBeside]
    ) -> None:
        self._readers, self._beside, self._end = readers, beside, DONE
        self._until_s = until_s

    def to_the_end(self) -> End:
        """Read until all pings have ended; return what ended them."""
        while any(reader.busy for reader in self._readers):
            for reader in self._readers:
                reader.pass_on()
            waiting: dict[Session, Reader | ReadBeside] = {
                reader.session: reader for reader in self._readers if not reader.ended
            }
            if waiting:
                waiting |= {each.session: each for each in self._beside if not each.ended}
            if waiting:
                self._read_once(waiting)
        return self._end

    def _read_once(self, waiting: Mapping[Session, Reader | ReadBeside]) -> None:
        left_s = None if self._until_s is None else max(0.0, self._until_s - time.monotonic())
        found = ready(waiting, left_s)
        # What was read of a stream must not be lost to a Ctrl-C, and all pings end at a deadline.
        with deferred():
            if self._until_s is not None and time.monotonic() >= self._until_s:
                self._until_s, self._end = None, "deadline"
                self._stop()
            for session in found:
                waiting[session].read()

    def interrupt(self) -> None:
        """Stop the pings; raise KeyboardInterrupt if they were interrupted before."""
        if self._end == "interrupted":
            raise KeyboardInterrupt
        before, self._end = self._end, "interrupted"
        if before == DONE:
            self._stop()

    def _stop(self) -> None:
        for reader in self._readers:
            reader.stop()
