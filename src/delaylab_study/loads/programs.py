"""Programs that loads and works run in nodes, through the nodes' agents."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass, field

from delaylab.api.agents import (
    MOST_KEPT,
    AgentError,
    Exec,
    ExecDone,
    Frame,
    FrameKind,
    NoAnswer,
    Result,
    Session,
)
from delaylab.api.errors import DelaylabError

START_DEADLINE_S = 20
RUN_DEADLINE_S = 30
STOP_DEADLINE_S = 20


class NotStarted(DelaylabError):
    """A program that did not start; `exit` is the exit code with which it ended, if it did."""

    exit: int | None = None


@dataclass
class ProgramOutput:
    """The output of a load's program so far; `result` is filled once it has ended."""

    result: Result[ExecDone]
    text: bytearray = field(default_factory=bytearray)
    stdout: bytearray = field(default_factory=bytearray)

    def add(self, frame: Frame) -> None:
        """Add one frame of output; raise AgentError if it is too much, as from a hostile node."""
        if len(self.text) + len(frame.payload) > MOST_KEPT:
            what = f"the output of a load is larger than {MOST_KEPT >> 20} MiB"
            raise AgentError(what, self.result.label)
        self.text.extend(frame.payload)
        if frame.kind == FrameKind.STDOUT:
            self.stdout.extend(frame.payload)


def start(
    session: Session, argv: list[str], ready: tuple[re.Pattern[bytes], ...], name: str = ""
) -> ProgramOutput:
    """Run a program until its output shows that it is active; return the output, which still grows.

    Raises NotStarted with its last line, and its `name` if others start it, if it does not start in
    time.
    """
    output = ProgramOutput(session.start(Exec(argv=argv)))
    session.on_output = output.add
    session.event(START_DEADLINE_S)
    began_s = time.monotonic()
    while not all(pattern.search(output.text) for pattern in ready):
        try:
            session.read_output(START_DEADLINE_S, began_s)
        except AgentError as error:
            last = _last_line(output.text, error.what)
            what = f"{name or argv[0]} did not start: {last}"
            not_started = NotStarted(what, session.label)
            not_started.exit = output.result.done.exit if output.result.raw else None
            raise not_started from None
    return output


def run(session: Session, argv: list[str], given: bytes = b"") -> bytes:
    """Run a program to its end with this input, and return its output.

    Raises DelaylabError with its last line if it fails or takes too long.
    """
    result = session.start(Exec(argv=argv, stdin=True))
    began_s = time.monotonic()
    try:
        if given:
            session.stdin(given, began_s + RUN_DEADLINE_S)
        session.stdin(b"")
        session.finish(RUN_DEADLINE_S, since_s=began_s)
    except NoAnswer:
        what = f"{argv[0]} did not end within {RUN_DEADLINE_S} s"
        raise DelaylabError(what, session.label) from None
    if result.done.exit != 0:
        last = _last_line(result.stderr or result.stdout, f"exit code {result.done.exit}")
        raise DelaylabError(f"{argv[0]} failed: {last}", session.label)
    return result.stdout


def end(session: Session) -> None:
    """Interrupt a program, and wait until it has ended."""
    session.signal(signal.SIGINT)
    session.finish(STOP_DEADLINE_S)


def _last_line(said: bytes | bytearray, otherwise: str) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else otherwise
