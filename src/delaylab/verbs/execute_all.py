"""Verb `delaylab exec --all`: run a command in every node at once."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import AgentError, Result
from delaylab.agent.session import Session
from delaylab.agent.stream import Loop
from delaylab.agent.wire.sessions import Exec, ExecDone
from delaylab.lab.running import LiveLab
from delaylab.verbs.execute import OUTPUT_WINDOW, environment

MOST_LINE = 64 << 10
"""Length of a line, in bytes, from which on it is printed in parts."""


@dataclass
class _InNode:
    """A command in one node. Each line that it prints gets the node's name before it."""

    node: str
    session: Session
    result: Result[ExecDone]
    lines: dict[FrameKind, bytearray] = field(default_factory=dict)
    failed: str | None = None
    ended: bool = False

    def take(self, frame: Frame) -> None:
        """Print the complete lines of its output."""
        self.session.used(len(frame.payload))
        line = self.lines.setdefault(frame.kind, bytearray())
        line += frame.payload
        *whole, rest = line.split(b"\n")
        self._print(frame.kind, whole)
        self.lines[frame.kind] = bytearray(rest)
        if len(rest) > MOST_LINE:
            self._flush()

    def read(self) -> bool:
        """Read what has come; return False once the command has ended."""
        try:
            self.ended = self.session.poll_done()
        except AgentError as error:
            self.failed, self.ended = error.what, True
        if self.ended:
            self._flush()
            if self.failed is None and self.result.done.exit != 0:
                self.failed = self.result.done.how
        return not self.ended

    def _flush(self) -> None:
        for kind, line in self.lines.items():
            if line:
                self._print(kind, [line])
        self.lines.clear()

    def _print(self, kind: FrameKind, lines: list[bytearray]) -> None:
        stream = sys.stderr if kind == FrameKind.STDERR else sys.stdout
        for line in lines:
            stream.buffer.write(f"{self.node}: ".encode() + line + b"\n")
        stream.flush()


def run(lab: LiveLab, argv: list[str]) -> dict[str, str]:
    """Run a command in every node of a lab at once, without input; print what the nodes print.

    Return how it failed, by node, for the nodes in which it did not end with exit code 0.
    """
    loop, failed, started = Loop(), dict[str, str](), list[_InNode]()
    try:
        for node in lab.plan.nodes:
            try:
                session = lab.node_session(node)
                request = Exec(argv=argv, env=environment(lab, node), window=OUTPUT_WINDOW)
                one = _InNode(node, session, session.start(request))
            except AgentError as error:
                failed[node] = error.what
                continue
            session.on_output = one.take
            started.append(one)
            loop.add(session, one.read)
        loop.run(lambda: all(each.ended for each in started))
    finally:
        lab.close()
    failed |= {each.node: each.failed for each in started if each.failed is not None}
    return {node: failed[node] for node in lab.plan.nodes if node in failed}
