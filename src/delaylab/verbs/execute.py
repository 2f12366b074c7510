"""`delaylab exec` and `shell`: a command in a node, with this terminal if there is one."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.lab import Lab
from delaylab.wireline import Frame, FrameKind, Session

_CHUNK = 65536
SIGNAL_EXIT = 128


def run(lab: Lab, node: str, argv: list[str], *, terminal: bool) -> int:
    """Run a command in a node; returns its exit code, 128 + N if signal N ended it."""
    session = lab.node_session(node)
    session.on_output = _print
    with _raw_terminal(terminal):
        session.start("exec", argv=argv, tty=_terminal_size() if terminal else None, stdin=True)
        done = _relay(session)
    lab.close()
    if "killed" in done:
        return SIGNAL_EXIT + int(done["killed"])
    return int(done["exit"])


def _relay(session: Session) -> dict[str, int]:
    """Pass input and output until the command ends."""
    poll = select.poll()
    poll.register(session.fileno(), select.POLLIN)
    poll.register(sys.stdin.fileno(), select.POLLIN)
    while True:
        try:
            ready = {fd for fd, _ in poll.poll()}
        except KeyboardInterrupt:
            session.signal(signal.SIGINT)
            continue
        if sys.stdin.fileno() in ready:
            data = os.read(sys.stdin.fileno(), _CHUNK)
            session.stdin(data)
            if not data:
                poll.unregister(sys.stdin.fileno())
        if session.fileno() in ready:
            done = session.poll_done()
            if done is not None:
                return done


def _print(frame: Frame) -> None:
    stream = sys.stderr if frame.kind == FrameKind.STDERR else sys.stdout
    stream.buffer.write(frame.payload)
    stream.flush()


def _terminal_size() -> dict[str, object]:
    size = shutil.get_terminal_size()
    return {"rows": size.lines, "cols": size.columns, "term": os.environ.get("TERM", "dumb")}


@contextmanager
def _raw_terminal(wanted: bool) -> Iterator[None]:
    """Keys go to the node as they are, control characters included."""
    if not wanted:
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin, termios.TCSADRAIN)  # what was typed ahead is kept
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
