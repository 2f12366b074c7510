"""The calls of a node's program, recorded while it runs (docs/record-and-replay.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import AgentError, AgentGone, NoAnswer, Result
from delaylab.agent.session import Session
from delaylab.agent.stream import readable
from delaylab.agent.wire.programs import Record, RecordDone
from delaylab.errors import DelaylabError
from delaylab.io.interrupts import deferred
from delaylab.lab.programs.folders import folder_of
from delaylab.lab.programs.programs import control, states
from delaylab.lab.running import LiveLab
from delaylab.replaying.calls import MOST_BYTES
from delaylab.replaying.library import library_path

ENDS_S = 120.0
"""Seconds that an agent has to restart a program after its recording, and to send the log."""


@dataclass
class OngoingRecording:
    """A program that is being recorded."""

    _session: Session
    _result: Result[RecordDone]
    _log: bytearray
    _ended: bool = False

    def wait(self, duration_s: float | None) -> None:
        """Wait until the program ends, but no longer than `duration_s`, nor than until Ctrl-C."""
        deadline = None if duration_s is None else time.monotonic() + duration_s
        try:
            while not self._ended:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return
                if self._session.has_frames or readable(self._session, left):
                    with deferred():
                        self._ended = self._session.poll_done()
        except KeyboardInterrupt:
            return

    def end(self) -> tuple[RecordDone, bytes]:
        """End the recording; return what was recorded and its log. The program then runs as before.

        Raises DelaylabError if it does not start again.
        """
        if not self._ended:
            self._session.stop()
            self._session.finish(ENDS_S)
        return self._result.done, bytes(self._log)


def _as_before(lab: LiveLab, node: str, program: str) -> None:
    """Start a program again that is still recorded, since its agent was killed or stopped."""
    with suppress(DelaylabError):
        found = [each for each in states(lab, only={node}).get(node, []) if each.name == program]
        if any(each.recording is not None for each in found):
            control(lab, node, "kill", [program])
            control(lab, node, "start", [program])


@contextmanager
def recording(lab: LiveLab, node: str, program: str) -> Iterator[OngoingRecording]:
    """Restart a program of a node so that it is recorded, as long as the block at most.

    Raises DelaylabError if it does not start, or does not load the library that records. Programs
    that need it are restarted with it.
    """
    library = library_path().read_bytes()
    session = lab.node_session(node)
    log = bytearray()

    def take(frame: Frame) -> None:
        """Add a piece of the log. The agent of a guest could send pieces for ever."""
        if frame.kind == FrameKind.STDOUT:
            if len(log) + len(frame.payload) > MOST_BYTES:
                raise AgentError("sent a log of more than 1 GiB", f"node {node}")
            log.extend(frame.payload)

    session.on_output = take
    try:
        result = session.start(Record(name=program, folder=folder_of(lab, node)))
        deadline_s = time.monotonic() + ENDS_S
        session.stdin(library, deadline_s)
        session.stdin(b"")
        session.event(deadline_s - time.monotonic())
        yield OngoingRecording(session, result, log)
    except AgentError as error:
        # An agent that answers has done so itself, or another command records the program.
        if isinstance(error, (AgentGone, NoAnswer)):
            _as_before(lab, node, program)
        raise DelaylabError(error.what, f"node {node}", error.fix) from None
    finally:
        session.close()
