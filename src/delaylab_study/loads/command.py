"""Loads by commands of the study's author."""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.api.agents import AgentError, Exec, ExecDone, Frame, NoAnswer, Result, Session
from delaylab.api.errors import DelaylabError
from delaylab.api.running import LiveLab
from delaylab_study.loads.state import Achieved, RunningLoads
from delaylab_study.study_file.loads import CommandLoad

START_DEADLINE_S = 30
END_DEADLINE_S = 10
KEPT = 1 << 20
"""The bytes that are kept of a command's output, the last ones: a load may print much."""
BY_TURNS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
"""The signals that end a command, each if it did not end by the one before."""


class RunningCommand:
    """A command that runs; it may end by itself if it succeeds."""

    def __init__(self, session: Session, load: CommandLoad) -> None:
        self._session, self._load = session, load
        self._said = bytearray()
        self._result: Result[ExecDone] = session.start(Exec(argv=load.argv))
        session.on_output = self._keep
        session.event(START_DEADLINE_S)
        self._began_s = time.monotonic()
        self._ended = False
        self._await_sign()

    def fileno(self) -> int:
        """Return the descriptor that is readable when there is output."""
        return self._session.fileno()

    def check(self) -> bool:
        """Read what has come, which it waits for; return False once the command has ended.

        Raises DelaylabError if it failed.
        """
        if not self._ended and self._session.poll_done():
            self._ended = True
            if self._result.done.exit != 0:
                raise self._failed(f"{self._result.done.how}{self._last_line()}")
        return not self._ended

    def end(self) -> dict[str, float]:
        """End the command; return for how much of the time it ran, and its CPU time."""
        lasted_s = time.monotonic() - self._began_s
        # What came with an earlier message makes nothing readable any more.
        while not self._ended and self._has_more():
            self.check()
        if not self._ended:
            self._stop()
        done = self._result.done
        ran_s = lasted_s
        if done.began_ns is not None and done.ended_ns is not None:
            ran_s = (done.ended_ns - done.began_ns) / 1e9
        found = {"ran_share": min(1.0, ran_s / lasted_s)}
        if done.user_ns is not None and done.system_ns is not None:
            found["cpu_s"] = (done.user_ns + done.system_ns) / 1e9
        return found

    def _has_more(self) -> bool:
        return self._session.has_frames or bool(select.select([self], [], [], 0)[0])

    def _stop(self) -> None:
        for number in BY_TURNS:
            self._session.signal(number)
            try:
                return self._session.finish(END_DEADLINE_S)
            except NoAnswer:
                continue
        raise self._failed(f"it did not end within {END_DEADLINE_S} s of being killed")

    def _await_sign(self) -> None:
        """Wait until the command prints its sign, if it has one."""
        if self._load.prints is None:
            return
        sign = self._load.prints.encode()
        while sign not in self._said:
            try:
                self._session.read_output(START_DEADLINE_S, self._began_s)
            except NoAnswer:
                what = f"it did not print {self._load.prints!r} within {START_DEADLINE_S} s"
                raise self._failed(what) from None
            except AgentError:
                what = f"it ended before it printed {self._load.prints!r}{self._last_line()}"
                raise self._failed(what) from None

    def _keep(self, frame: Frame) -> None:
        self._said += frame.payload
        del self._said[:-KEPT]

    def _last_line(self) -> str:
        lines = self._said.decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    def _failed(self, why: str) -> DelaylabError:
        return DelaylabError(f"load {self._load.amount!r}: {why}", self._session.label)


@contextmanager
def command(lab: LiveLab, load: CommandLoad, state: RunningLoads) -> Iterator[None]:
    """Run a command for the length of a block."""
    session = lab.node_session(load.on)
    running = RunningCommand(session, load)
    state.sessions.append(running)
    yield
    state.sessions.remove(running)
    state.achieved.append(Achieved(load, running.end()))
    session.close()
