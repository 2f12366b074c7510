"""Requests about a node's files and long-lived programs (docs/protocol.md), with their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from delaylab.agent.replies import Count, ExitCode, Listed, Named, Nothing, Reply, Text, Time
from delaylab.agent.requests import Request
from delaylab.io.values import Message

if TYPE_CHECKING:
    from delaylab.spec.programs import ReadySpec


class Started(Reply):
    """The process id of each program that was started, by name."""

    pids: Named[Count] = Field(default_factory=dict)


RecordingState = Literal["whole", "cut"]
"""The state of a recording: all calls so far are in its log, or it has ended before the program."""


class ProgramState(Reply):
    """The state of a program; times are in ns since 1970, by the node's clock.

    `ran_ns` is the CPU time of its threads so far, `waited_ns` the time that they were ready to run
    and waited for a CPU. `recording` is None if it is not recorded. `ends` is True if it is to end
    by itself. `ended_ns` is None while it runs. Of one that ended out of its supervisor's sight,
    neither `exit` nor `killed` is known.
    """

    name: Text
    pid: Count
    began_ns: Time
    ends: bool = False
    ended_ns: Time | None = None
    exit: ExitCode | None = None
    killed: ExitCode | None = None
    frozen: bool = False
    ran_ns: Count = 0
    waited_ns: Count = 0
    recording: RecordingState | None = None

    @property
    def is_dead(self) -> bool:
        """Return True if it ended, and was not to, or failed."""
        return self.ended_ns is not None and not (self.ends and self.exit == 0)

    @property
    def how(self) -> str:
        """Return its state in words."""
        if self.ended_ns is None:
            return ("frozen" if self.frozen else "running") + _RECORDED[self.recording]
        if self.exit is not None:
            return "done" if self.ends and self.exit == 0 else f"ended with exit code {self.exit}"
        return "ended" if self.killed is None else f"ended by signal {self.killed}"


_RECORDED: dict[RecordingState | None, str] = {
    None: "",
    "whole": ", recorded",
    "cut": ", its recording has ended: the log is full, or a call was too large",
}
NodeState = Literal["running", "stopped", "killed"]
"""The last thing that was done to a node as a whole."""
Deed = Literal["freeze", "continue", "kill", "start"]
"""A thing that is done to programs."""


class ProgramStates(Reply):
    """The state of a node, and of each of its programs."""

    node: NodeState
    programs: Listed[ProgramState] = Field(default_factory=list)


class Controlled(Reply):
    """The programs after what was done to them between two times, in ns since 1970."""

    began_ns: Time
    done_ns: Time
    programs: Listed[ProgramState] = Field(default_factory=list)


class Ended(Reply):
    """The state of the program that was to end."""

    program: ProgramState


class Recorded(Reply):
    """The process that was recorded, started at `began_ns`; its state if it ended by itself.

    `cut` is True if the recording ended before: the log was full, or a call was too large. `again`
    is True if it ended in its first second, and was started again without the library.
    """

    pid: Count
    began_ns: Time
    ended: ProgramState | None = None
    cut: bool
    again: bool


class OrderDone(Reply):
    """An order that was carried out between two times; all times are in ns since 1970."""

    at_ns: Time
    began_ns: Time
    done_ns: Time
    failed: Text | None = None


class OrdersDone(Reply):
    """The orders that were carried out so far, by time, and the number that are still to come."""

    done: Listed[OrderDone] = Field(default_factory=list)
    left: Count


@dataclass(frozen=True)
class Order(Message):
    """A thing to do to these programs of a node at a time, in ns since 1970 by its clock.

    Without names it is done to the node as a whole.
    """

    at_ns: int
    do: Deed
    names: Sequence[str] = ()


@dataclass(frozen=True)
class NodeFile(Message):
    """A file to write; `owner` is `USER` or `USER:GROUP`."""

    path: str
    content: str
    mode: int
    owner: str | None


@dataclass(frozen=True)
class Program(Message):
    """A program to start, and the sign that it is ready.

    If it runs, it is restarted with each new start of the program that it `needs`. One that
    `ignores_routes` gets no netlink notification about them.
    """

    name: str
    argv: Sequence[str]
    env: dict[str, str]
    ready: ReadySpec | None
    within_ms: int
    needs: str | None = None
    ignores_routes: bool = False


@dataclass(frozen=True, kw_only=True)
class Start(Request[Started]):
    """Write files below the folders `within`, then start programs, each once the last is ready.

    `folder` keeps the programs' state and output; None for a node that has a `/run` of its own.
    With `notify_later` programs that ignore routes get no netlink notification until `Notify`.
    """

    op = "start"
    reply = Started
    within: Sequence[str] = ()
    files: Sequence[NodeFile] = ()
    programs: Sequence[Program] = ()
    notify_later: bool = False
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class Notify(Request[Nothing]):
    """Have programs that were started with `notify_later` notified of links and addresses."""

    op = "notify"
    reply = Nothing
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class Programs(Request[ProgramStates]):
    """Ask for the state of the programs that were started."""

    op = "programs"
    reply = ProgramStates
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class Output(Request[Nothing]):
    """Ask for the kept output of a program, which comes as output."""

    op = "output"
    reply = Nothing
    name: str
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class End(Request[Ended]):
    """Ask to end a program: by SIGTERM, and by SIGKILL after `within_ms`."""

    op = "end"
    reply = Ended
    name: str
    folder: str | None = None
    within_ms: int


@dataclass(frozen=True, kw_only=True)
class Control(Request[Controlled]):
    """Freeze, continue, kill or start again these programs; without names the node as a whole."""

    op = "control"
    reply = Controlled
    do: Deed
    names: Sequence[str] = ()
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class Schedule(Request[Nothing]):
    """Do things to programs at set times, by time, in place of all that was ordered before.

    A process of the node waits for the times, and outlives the session.
    """

    op = "schedule"
    reply = Nothing
    orders: Sequence[Order]
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class Scheduled(Request[OrdersDone]):
    """Wait until all that was ordered is done, at most `within_ms`, and return it."""

    op = "scheduled"
    reply = OrdersDone
    within_ms: int = 0
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class Record(Request[Recorded]):
    """Restart a program with the library that records, which is the request's standard input.

    It is recorded until it ends or the request is stopped. The log comes as output.
    """

    op = "record"
    reply = Recorded
    name: str
    folder: str | None = None
