"""Programs that loads run in nodes, through the nodes' agents."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass, field

from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.replies import Exit
from delaylab.agent.requests import Exec
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.errors import DelaylabError

START_DEADLINE_S = 20
STOP_DEADLINE_S = 20


@dataclass
class Output:
    """The output of a load's program so far."""

    text: bytearray = field(default_factory=bytearray)
    stdout: bytearray = field(default_factory=bytearray)

    def add(self, frame: Frame) -> None:
        """Add one frame of output."""
        self.text.extend(frame.payload)
        if frame.kind == FrameKind.STDOUT:
            self.stdout.extend(frame.payload)


def start(session: Session, argv: list[str], ready: tuple[re.Pattern[bytes], ...]) -> Output:
    """Run a program until its output shows that it is active; return the output, which still grows.

    Raises DelaylabError with its last line if it does not start in time.
    """
    output = Output()
    session.on_output = output.add
    session.start(Exec(argv=argv))
    session.event(START_DEADLINE_S)
    deadline = time.monotonic() + START_DEADLINE_S
    while not all(pattern.search(output.text) for pattern in ready):
        try:
            session.read_output(deadline - time.monotonic())
        except AgentError as error:
            said = output.text.decode(errors="replace").strip().splitlines()
            last = said[-1] if said else error.what
            raise DelaylabError(f"{argv[0]} did not start: {last}", session.label) from None
    return output


def run(session: Session, argv: list[str]) -> None:
    """Run a program to its end; raise DelaylabError with its last line if it fails."""
    output = Output()
    session.on_output = output.add
    done = session.call(Exec(argv=argv)).done
    if done.exit != 0:
        said = output.text.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else f"exit code {done.exit}"
        raise DelaylabError(f"{argv[0]} failed: {why}", session.label)


def end(session: Session) -> Exit:
    """Interrupt a program, wait until it has ended, and return how it did."""
    session.signal(signal.SIGINT)
    return Exit.model_validate(session.finish(STOP_DEADLINE_S).raw)
