"""Start of an MPI program on the nodes of a lab, by their agents and without ssh.

mpirun runs in the first node. Where it would call ssh to start its daemon on a node, it runs a
script that only says the command, which is then run by that node's agent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial

from delaylab.api.agents import AgentError, Exec, ExecDone, Frame, Loop, NoAnswer, Result, Session
from delaylab.api.errors import DelaylabError
from delaylab.api.running import LiveLab
from delaylab_study.work.folders import WorkFolder
from delaylab_study.work.jobs import LONGEST_LINE
from delaylab_study.work.mpi import settings

START_DEADLINE_S = 30.0
END_DEADLINE_S = 20.0
"""The time from the end of a node's part to the end of the whole."""
_LAUNCH = re.compile(rf"{settings.LAUNCHING} (\S+) (.+)")
_MOST_SAID = 1 << 20
_FAILED = re.compile(rf"{settings.FAILED} (\d+) (\S+) (\d+)")
_FRAME = re.compile(r"[-=*\s]*")
_ENDED_BY_MPIRUN = ("137", "143")
"""The exit codes of shells whose programs got SIGKILL or SIGTERM."""
_BY_SIGNAL = 128
"""The sum that a shell gives for a program that was killed is this and the signal's number."""


@dataclass
class Daemon:
    """The part of one node: the session in which its daemon runs, and what it gave so far."""

    node: str
    session: Session
    result: Result[ExecDone]


@dataclass
class Ended:
    """A program that has ended: its output, and the time since it was let go."""

    output: bytes
    wall_s: float


@dataclass
class StartedJob:
    """An MPI program: started, and waiting until it may go. `daemons` has those of its nodes."""

    launcher: Session
    result: Result[ExecDone]
    folders: Sequence[WorkFolder]
    daemons: dict[str, Daemon] = field(default_factory=dict)
    began_ns: int = 0

    def go(self) -> None:
        """Let the program begin."""
        self.began_ns = time.monotonic_ns()
        self.launcher.stdin(b"go\n")

    @cached_property
    def _ended(self) -> Ended | str:
        """The end of the program, for which this waits; or the reason why it failed."""
        try:
            self.launcher.finish(END_DEADLINE_S)
            done = self.result.done
        except NoAnswer:
            # mpirun may wait for ever once a rank has died: in one run of some hundreds it did.
            late = f"{settings.MPIRUN} did not end within {END_DEADLINE_S:g} s of a node's part"
            return reason(self._failures() or late.encode())
        except AgentError as error:
            return error.what
        wall_s = (time.monotonic_ns() - self.began_ns) / 1e9
        if done.exit == 0:
            return Ended(self.result.stdout, wall_s)
        said = self.result.stderr + b"\n" + self.result.stdout
        if settings.FAILED.encode() not in said:
            said = self._failures() + said
        return reason(said)

    def _failures(self) -> bytes:
        """Return what failed ranks wrote into the folders of their nodes."""
        found = b""
        for folder in self.folders:
            with suppress(DelaylabError):
                found += folder.run("cat", folder.file(settings.FAILURES))
        return found

    def ended(self) -> Ended:
        """Wait for the end of the program, which is near; raise AgentError if it failed."""
        found = self._ended
        if isinstance(found, str):
            raise AgentError(found)
        return found


@contextmanager
def launched(
    lab: LiveLab, folders: Sequence[WorkFolder], ranks: int, program: Sequence[str]
) -> Iterator[StartedJob]:
    """Provide an MPI program that is started on the nodes of these folders, and waits for `go`.

    Raises DelaylabError, with the program's or a daemon's last words, if it does not start.
    """
    folders[0].write(settings.AGENT, settings.AGENT_TEXT)
    launcher = lab.node_session(folders[0].node)
    started = StartedJob(launcher, Result(Exec(argv=[])), folders)
    try:
        argv = settings.command(lab, folders, ranks, program)
        env = settings.environment(folders[0])
        started.result = launcher.start(Exec(argv=argv, env=env, stdin=True))
        _start(lab, started, {each.node: each for each in folders})
        yield started
    finally:
        # Only when all have ended do they write no more into the folders, which are then removed.
        parts = [(each.session, each.result) for each in started.daemons.values()]
        with ThreadPoolExecutor(len(parts) + 1) as pool:
            list(pool.map(_end, *zip((launcher, started.result), *parts, strict=True)))


def ended_with(code: int) -> str:
    """Return how a program ended, by the exit code of the shell that ran it."""
    return f"signal {code - _BY_SIGNAL}" if code > _BY_SIGNAL else f"exit code {code}"


def _end(session: Session, result: Result[ExecDone]) -> None:
    """End what runs in a session, unless it has given its result, and close it."""
    if not result.raw:
        with suppress(AgentError):
            session.stop()
            session.finish(END_DEADLINE_S)
    session.close()


def reason(said: bytes) -> str:
    """Return which rank failed, and what was said before; or else what mpirun said first."""
    every = [line.strip() for line in said.decode(errors="replace").splitlines()]
    lines = [line[:LONGEST_LINE] for line in every if not _FRAME.fullmatch(line)] or ["nothing"]
    failed = [(at, found) for at, line in enumerate(lines) if (found := _FAILED.fullmatch(line))]
    # Where one rank fails, mpirun ends the others.
    failed.sort(key=lambda each: each[1][3] in _ENDED_BY_MPIRUN)
    for at, found in failed[:1]:
        before = f"; it said last: {lines[at - 1]}" if at else ""
        return (
            f"rank {found[1]} on node {found[2]!r} ended with {ended_with(int(found[3]))}{before}"
        )
    return lines[0]


def _start(lab: LiveLab, program: StartedJob, folders: dict[str, WorkFolder]) -> None:
    """Start a daemon wherever mpirun wants one, until rank 0 says that it waits."""
    said = bytearray()
    told = 0

    def hear(frame: Frame) -> None:
        said.extend(frame.payload)

    program.launcher.on_output = hear
    end_s = time.monotonic() + START_DEADLINE_S
    while len(said) < _MOST_SAID:
        _read(program, bytes(said), end_s)
        *lines, _ = said.decode(errors="replace").split("\n")
        for line in lines[told:]:
            found = _LAUNCH.fullmatch(line)
            if found is not None:
                node = settings.node_of(found[1])
                if node not in folders or node in program.daemons:
                    raise DelaylabError(f"{settings.MPIRUN} wants a daemon on {found[1]!r}")
                program.daemons[node] = _daemon(lab, folders[node], found[2])
            elif line == settings.READY:
                program.launcher.on_output = None
                return
        told = len(lines)
    raise DelaylabError(f"{settings.MPIRUN} says more than {_MOST_SAID} bytes before it starts")


def _daemon(lab: LiveLab, folder: WorkFolder, command: str) -> Daemon:
    session = lab.node_session(folder.node)
    argv, env = ["sh", "-c", command], settings.environment(folder)
    # mpirun has some shells read `.profile` of the working directory first: here there is none.
    result = session.start(Exec(argv=argv, env=env, cwd=str(folder.path)))
    return Daemon(folder.node, session, result)


def _read(program: StartedJob, said: bytes, end_s: float) -> None:
    """Wait for output of mpirun; raise DelaylabError if it or a daemon ends before."""
    heard: list[str] = []

    def read(session: Session, name: str, result: Result[ExecDone]) -> bool:
        heard.append(name)
        try:
            if not session.poll_done():
                return True
        except AgentError as error:
            raise DelaylabError(f"{name} did not start: {error.what}") from None
        words = result.stderr + b"\n" + result.stdout + b"\n" + said
        raise DelaylabError(f"{name} did not start: {reason(words)}", session.label)

    loop = Loop()
    started = [(program.launcher, settings.MPIRUN, program.result)]
    started += [
        (daemon.session, f"orted of {daemon.node}", daemon.result)
        for daemon in program.daemons.values()
    ]
    for session, name, result in started:
        loop.add(session, partial(read, session, name, result))
    if not loop.run(lambda: bool(heard), end_s):
        raise DelaylabError(f"MPI did not start within {START_DEADLINE_S:g} s: {reason(said)}")
