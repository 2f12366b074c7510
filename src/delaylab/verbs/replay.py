"""Verb `delaylab replay`: a recorded process runs again, without its lab and network."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Literal

from delaylab.agent.binary import agent_path, library_path
from delaylab.agent.calls import CallsOfLog, calls_of
from delaylab.errors import BadInput, DelaylabError, NotHere
from delaylab.io.files import check_file
from delaylab.io.interrupts import deferred
from delaylab.io.printable import one_line
from delaylab.verbs.record import FILES, LOG, Recorded, read

MOST_BYTES = 1 << 30
"""The longest log (`LIMIT` in `crates/replay/src/recorder.rs`)."""
PAGE = 4096
HEAD = struct.Struct("<IIQQ")
"""The page that outlives a replay: how it ended, the text's length, equal calls and outputs."""
HIGH = 1000
"""The first descriptor of a replay's own (`placeholders.rs` of `crates/replay`)."""
OURS = ("LD_PRELOAD=", "DELAYLAB_RECORD=")
"""The beginnings of variables that the recording set."""


class End(IntEnum):
    """The way in which a replay ended, as the library says (`difference.rs` of `crates/replay`).

    `FAILED` is said by the agent, if a container's program cannot be started.
    """

    SILENT = 0
    LOG = 1
    DIFFERS = 2
    UNTIL = 3
    DAMAGED = 4
    FOREIGN = 5
    EXIT = 6
    FAILED = 7


@dataclass(frozen=True)
class Replayed:
    """The end of a replay: how it compares, after how many equal calls and outputs, and in words.

    `how` is `equal` for a replay that came to the recording's end, `until` for one that stopped
    before the call that was asked for, and `differs` for any other.
    """

    how: Literal["equal", "until", "differs"]
    calls: int
    outputs: int
    text: str


def replay(folder: Path, until: int | None = None) -> Replayed:
    """Run a recorded process again, and compare what it gives with what it gave.

    What it prints goes to standard error. Raises DelaylabError if the log is damaged, or if the
    program is not the recorded one.
    """
    about, calls = _checked(folder)
    with _given(folder, calls, until) as given:
        argv = _apart(given, folder, calls.argv[:1]) if _has_files(folder) else []
        process: subprocess.Popen[bytes] | None = None
        try:
            with deferred():
                process = subprocess.Popen(
                    [*argv, calls.executable, *calls.argv[1:]] if argv else calls.argv,
                    executable=None if argv else calls.executable,
                    env=given.env,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=sys.stderr.fileno(),
                    stderr=sys.stderr.fileno(),
                    start_new_session=True,
                    pass_fds=given.descriptors,
                )
            code = process.wait()
        finally:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        return _outcome(given, folder, about, calls, code)


def debug(folder: Path, until: int | None, words: Sequence[str]) -> int:
    """Run a recorded process again in gdb; return gdb's exit code.

    It stops before the call `until`, and where it differs from the recording. `words` are further
    options of gdb. Raises NotHere if there is no gdb.
    """
    _, calls = _checked(folder)
    gdb = shutil.which("gdb")
    if gdb is None:
        raise NotHere("gdb is not installed", fix="install it (on Debian: `apt install gdb`)")
    # Is it the recorded program? In gdb its code, where breakpoints are put, tells nothing.
    replay(folder, until=1)
    with _given(folder, calls, until, traps=True) as given, _memory(b"") as script:
        first, program = _in_gdb(given, folder, calls)
        os.write(script, "\n".join([*first, "set cwd /", "run", ""]).encode())
        commands = f"/proc/self/fd/{script}"
        argv = [gdb, "-q", "-x", commands, *words, "--args", program, *calls.argv[1:]]
        # Ctrl-C is gdb's.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return subprocess.run(
                argv,
                check=False,
                preexec_fn=lambda: signal.signal(signal.SIGINT, before),
                pass_fds=[*given.descriptors, script],
            ).returncode
        finally:
            signal.signal(signal.SIGINT, before)


def _in_gdb(given: _Given, folder: Path, calls: CallsOfLog) -> tuple[list[str], str]:
    """Return gdb's first commands, and the program for it to run."""
    common = ["set breakpoint pending on", "unset environment"]
    if _has_files(folder):
        # gdb reads the kept files, and a shell starts the program by what is before it.
        wrapper = shlex.join(_apart(given, folder))
        root = (folder / FILES).resolve()
        return [
            *common,
            f"set exec-wrapper {wrapper}",
            f"set sysroot {root}",
        ], f"{root}{calls.executable}"
    # The variables are the process's, and not gdb's own: it would load the library as well.
    variables = [
        f"set environment {name} {value}" for name, value in given.env.items() if "\n" not in value
    ]
    return [*common, "set startup-with-shell off", *variables], calls.executable


def list_calls(folder: Path) -> int:
    """Print a line for each call of a recording; return the exit code."""
    read(folder)
    return subprocess.run([agent_path(), "calls", "--list", folder / LOG], check=False).returncode


def _checked(folder: Path) -> tuple[Recorded, CallsOfLog]:
    about = read(folder)
    check_file(folder / LOG, MOST_BYTES)
    calls = calls_of(folder / LOG)
    if calls.argv and _has_files(folder):
        if not (folder / FILES / calls.executable.lstrip("/")).is_file():
            what = f"the recorded program {one_line(calls.executable)!r} is not in it"
            raise BadInput(
                what, str(folder / FILES), "copy the whole recording, or record it again"
            )
    elif not calls.argv or not os.access(calls.executable, os.X_OK):
        what = f"the recorded program {one_line(calls.executable)!r} is not on this machine"
        raise BadInput(what, str(folder), "replay it where it was recorded, or install it")
    return about, calls


@dataclass(frozen=True)
class _Given:
    """The open descriptors and the variables of a replay: its log, its page, and these variables.

    They are no files, so that a replay which is killed leaves none.
    """

    log: int
    page: int
    variables: int
    env: dict[str, str]

    @property
    def descriptors(self) -> list[int]:
        """Return the descriptors that the process needs."""
        return [self.log, self.page, self.variables]


@contextmanager
def _given(
    folder: Path, calls: CallsOfLog, until: int | None, *, traps: bool = False
) -> Iterator[_Given]:
    """Open what a replay needs, and close it in the end; `traps` stop it for a debugger."""
    with (folder / LOG).open("rb") as log, _memory(bytes(PAGE)) as page, _high(log.fileno()) as fd:
        env = _environment(calls, fd, page, until)
        if traps:
            env["DELAYLAB_REPLAY_TRAPS"] = "1"
        variables = "".join(f"{name}={value}\0" for name, value in env.items())
        with _memory(os.fsencode(variables)) as listed:
            yield _Given(fd, page, listed, env)


@contextmanager
def _memory(content: bytes) -> Iterator[int]:
    """Make a file that is only in memory; provide its descriptor, which is out of others' way."""
    made = os.memfd_create("delaylab-replay")
    try:
        os.write(made, content)
        with _high(made) as descriptor:
            yield descriptor
    finally:
        os.close(made)


@contextmanager
def _high(descriptor: int) -> Iterator[int]:
    """Duplicate a descriptor above those that a recorded program gets."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH)
    try:
        yield high
    finally:
        os.close(high)


def _environment(calls: CallsOfLog, log: int, page: int, until: int | None) -> dict[str, str]:
    """Return the variables of the recorded process, and those of its replay."""
    recorded = (each.partition("=") for each in calls.env if not each.startswith(OURS))
    env = {name: value for name, _, value in recorded if name}
    env |= {
        "LD_PRELOAD": str(library_path().resolve()),
        "DELAYLAB_REPLAY": f"fd:{log}",
        "DELAYLAB_REPLAY_STATUS": f"fd:{page}",
    }
    return env if until is None else env | {"DELAYLAB_REPLAY_UNTIL": str(until)}


def _has_files(folder: Path) -> bool:
    """Return True if a recording has the files of its program, which came from a container."""
    return (folder / FILES).is_dir()


def _apart(given: _Given, folder: Path, called: Sequence[str] = ()) -> list[str]:
    """Return the words before a program that gets the kept files alone."""
    words = [str(agent_path()), "apart", str((folder / FILES).resolve())]
    words += ["--show", str(library_path().resolve())]
    words += ["--variables", str(given.variables), "--page", str(given.page)]
    return [*words, *(f"--called={name}" for name in called), "--"]


def _outcome(
    given: _Given, folder: Path, about: Recorded, calls: CallsOfLog, code: int
) -> Replayed:
    page = os.pread(given.page, PAGE, 0)
    end, length, done, outputs = HEAD.unpack_from(page)
    text = one_line(page[HEAD.size : HEAD.size + length].decode(errors="replace"))
    how = End(end)
    if how == End.DAMAGED:
        raise DelaylabError(text, str(LOG))
    if how == End.FAILED:
        raise DelaylabError(f"{calls.executable} cannot be run with the kept files: {text}")
    if how == End.FOREIGN:
        what = f"{calls.executable} is not as it was recorded: {text} is another one"
        fix = "install the version that was recorded, or record it again"
        raise DelaylabError(what, fix="record it again" if _has_files(folder) else fix)
    if how == End.UNTIL:
        return Replayed("until", done, outputs, f"stopped before call {done + 1}: {text}")
    if how == End.DIFFERS:
        return Replayed("differs", done, outputs, text)
    recorded, now = _end(about, calls), _now(how, code)
    whole = done == calls.calls
    if whole and recorded == now:
        return Replayed("equal", done, outputs, now)
    what = f"after call {done}: recorded {recorded if whole else 'another call'}, replayed {now}"
    if how == End.LOG:
        what += f" {text}"
    return Replayed("differs", done, outputs, what)


def _end(about: Recorded, calls: CallsOfLog) -> str:
    """Return how the recording ended."""
    if about.killed in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        return "the end of the log"  # a signal from outside, which no replay gets
    if about.killed is not None:
        return f"end by signal {about.killed}"
    if calls.exit is not None:
        return f"end with exit code {about.exit if about.exit is not None else calls.exit}"
    return "the end of the log"


def _now(how: End, code: int) -> str:
    """Return how the replay ended."""
    if how == End.LOG:
        return "the end of the log"
    return f"end by signal {-code}" if code < 0 else f"end with exit code {code}"
