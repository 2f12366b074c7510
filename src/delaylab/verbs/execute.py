"""Verbs `delaylab exec` and `shell`: run a command in a node, on this terminal or captured."""

from __future__ import annotations

import errno
import math
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from delaylab.agent.failures import FailureKind
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import AgentError, NoAnswer
from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Exec, ExecDone, Terminal
from delaylab.errors import BadInput, DelaylabError
from delaylab.io.interrupts import deferred
from delaylab.lab.running import LiveLab

_CHUNK = 32 << 10
OUTPUT_WINDOW = 1 << 20
"""Largest number of bytes of output between the command and this terminal.

The agent's own client gives the same window (`OUTPUT_WINDOW` in `crates/proto`).
"""
SIGNAL_EXIT = 128
NOT_RUN = {errno.ENOENT: ("command not found", 127), errno.EACCES: ("permission denied", 126)}
"""Errors of execve(2), each in words and with the exit code that a shell gives (POSIX)."""


def run(lab: LiveLab, node: str, argv: list[str], *, terminal: bool) -> int:
    """Run a command in a node; return its exit code, or 128 + N if signal N ended it."""
    if argv[0].startswith("-"):
        raise BadInput(
            f"{argv[0]} is neither a command nor before the node",
            fix=f"delaylab exec {argv[0]} … NODE -- COMMAND",
        )
    session = lab.node_session(node)
    session.on_output = Printer(session).take
    tty_size = _terminal_size() if terminal else None
    try:
        with _raw_terminal(terminal):
            result = session.start(
                Exec(
                    argv=argv,
                    env=environment(lab, node),
                    tty=tty_size,
                    stdin=True,
                    window=OUTPUT_WINDOW,
                )
            )
            _relay(session)
    except AgentError as error:
        raise _not_run(error, argv[0], node) or error from None
    lab.close()
    return _exit_code(session, result.done)


def environment(lab: LiveLab, node: str) -> dict[str, str] | None:
    """Return the variables that a node's programs have in addition to its agent's."""
    found = lab.plan.nodes.get(node)
    return dict(found.env) if found and found.env else None


def _not_run(error: AgentError, program: str, node: str) -> DelaylabError | None:
    """Return the error for a program that cannot be started, with a shell's exit code, or None."""
    if error.kind is not FailureKind.NOT_STARTED or error.errno not in NOT_RUN:
        return None
    what, code = NOT_RUN[error.errno]
    return DelaylabError(f"{program}: {what}", f"node {node}", exit_code=code)


def captured(
    lab: LiveLab, node: str, argv: Sequence[str], stdin: bytes = b"", timeout_s: float | None = None
) -> tuple[int, bytes, bytes]:
    """Run a command in a node; return its exit code as `run` does, its output and its errors.

    `stdin` is its standard input. Raise NoAnswer after `timeout_s` seconds; the command is then
    ended.
    """
    began_s = time.monotonic()
    session = lab.node_session(node)
    try:
        result = session.start(Exec(argv=argv, env=environment(lab, node), stdin=True))
        if stdin:
            session.stdin(stdin, math.inf if timeout_s is None else began_s + timeout_s)
        session.stdin(b"")
        session.finish(timeout_s, since_s=began_s)
    except NoAnswer:
        what = f"the command did not end within {timeout_s:g} s"
        raise NoAnswer(what, session.label) from None
    finally:
        session.close()
    return _exit_code(session, result.done), result.stdout, result.stderr


def _exit_code(session: Session, done: ExecDone) -> int:
    if done.killed is not None:
        return SIGNAL_EXIT + done.killed
    if done.exit is None:
        raise AgentError("the command ended without an exit code", session.label)
    return done.exit


def _relay(session: Session) -> None:
    """Pass input and output until the command ends; Ctrl-C is the command's."""
    relay = _Relay(session)
    # The loop is inside, since a Ctrl-C at any point of it must be passed on.
    while not relay.ended:
        try:
            relay.to_the_end()
        except KeyboardInterrupt:
            if not relay.ended:
                session.signal(signal.SIGINT)


class _Relay:
    """Input and output of a command; input waits while the command reads none."""

    def __init__(self, session: Session) -> None:
        self._session, self._stdin = session, sys.stdin.fileno()
        self._open_input, self.ended = True, False

    def to_the_end(self) -> None:
        while not self.ended:
            poll = select.poll()
            poll.register(self._session.fileno(), select.POLLIN)
            if self._open_input and self._session.room:
                poll.register(self._stdin, select.POLLIN)
            ready = {fd for fd, _ in poll.poll()}
            with deferred():
                self._pass_on(ready)

    def _pass_on(self, ready: set[int]) -> None:
        if self._stdin in ready:
            data = os.read(self._stdin, min(self._session.room, _CHUNK))
            self._session.stdin(data)
            self._open_input = bool(data)
        if self._session.fileno() in ready:
            self.ended = self._session.poll_done()


class Printer:
    """A printer of a command's output, which reports what it printed to the command's agent.

    The agent therefore never has more than `OUTPUT_WINDOW` bytes of output under way.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._untold = 0

    def take(self, frame: Frame) -> None:
        """Print the output in a frame."""
        stream = sys.stderr if frame.kind == FrameKind.STDERR else sys.stdout
        stream.buffer.write(frame.payload)
        stream.flush()
        self._untold += len(frame.payload)
        if self._untold > OUTPUT_WINDOW // 4:
            self._session.used(self._untold)
            self._untold = 0


def _terminal_size() -> Terminal:
    size = shutil.get_terminal_size()
    return Terminal(size.lines, size.columns, os.environ.get("TERM", "dumb"))


@contextmanager
def _raw_terminal(wanted: bool) -> Iterator[None]:
    """Set this terminal to raw mode: the node gets every key, control characters included."""
    if not wanted:
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin, termios.TCSADRAIN)  # TCSADRAIN keeps what was typed ahead
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
