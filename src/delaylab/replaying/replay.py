"""Verb `delaylab replay`: a recorded process runs again, without its lab and network."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import struct
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Literal

from delaylab.agent.binary import agent_path
from delaylab.errors import BadInput, DelaylabError, NotHere
from delaylab.io.files import check_file
from delaylab.io.interrupts import deferred
from delaylab.io.printable import one_line
from delaylab.replaying.calls import MOST_BYTES, CallsOfLog, calls_of
from delaylab.replaying.confined import PAGE, Given, apart, checked, given, has_files, in_memory
from delaylab.replaying.library import library_path
from delaylab.replaying.record import FILES, LOG, RecordingInfo, read

HEAD = struct.Struct("<IIQQ")
"""The page that outlives a replay: how it ended, the text's length, equal calls and outputs."""
SAFE = (
    "set auto-load no",
    "set auto-load libthread-db yes",
    "set libthread-db-search-path $sdir",
)
"""The commands by which gdb runs no scripts and libraries that are among the program's files."""


class End(IntEnum):
    """The end of a replay, as the library says (`difference.rs` of `crates/replay`).

    `FAILED` is said by the agent, if the program cannot be started.
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
    before the call that was asked for, and `differs` for any other. `unseen` are functions that the
    recorded program called and that are not recorded: equal calls say nothing about them. `cut` is
    True if the recording ended before the program.
    """

    how: Literal["equal", "until", "differs"]
    calls: int
    outputs: int
    text: str
    unseen: tuple[str, ...]
    cut: bool

    @property
    def covers(self) -> str:
        """Return what the program did that a replay cannot compare; empty if that is nothing."""
        cut = "; the recording ended before the program" if self.cut else ""
        return cut + (f"; not recorded: {', '.join(self.unseen)}" if self.unseen else "")


def replay(folder: Path, until: int | None = None) -> Replayed:
    """Run a recorded process again, and compare what it gives with what it gave.

    It runs without rights (`confined.py`): whoever made the recording need not be trusted. What it
    prints goes to standard error. Raises DelaylabError if the log is damaged, or if the program is
    not the recorded one.
    """
    about, calls = _checked(folder)
    with given(folder, calls, until) as own:
        process: subprocess.Popen[bytes] | None = None
        try:
            with deferred():
                process = subprocess.Popen(
                    apart(own, folder, calls),
                    env={},
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=own.descriptors,
                )
            code = process.wait()
        finally:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        page = os.pread(own.page, PAGE, 0)
    # All that it printed has been printed by now.
    return _outcome(page, folder, about, calls, code)


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
    with given(folder, calls, until, traps=True) as own, ExitStack() as stack:
        first, program = _in_gdb(own, folder, calls)
        lines = "\n".join([*first, "set cwd /", "run", ""])
        script = stack.enter_context(in_memory(lines.encode()))
        commands = [word for line in SAFE for word in ("-iex", line)]
        commands += ["-x", f"/proc/self/fd/{script}"]
        argv = [gdb, "-q", *commands, *words, "--args", program]
        # Ctrl-C is gdb's.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return subprocess.run(
                argv,
                check=False,
                preexec_fn=lambda: signal.signal(signal.SIGINT, before),
                pass_fds=[*own.descriptors, script],
            ).returncode
        finally:
            signal.signal(signal.SIGINT, before)


def _in_gdb(own: Given, folder: Path, calls: CallsOfLog) -> tuple[list[str], str]:
    """Return gdb's first commands, and the program for it to run.

    gdb reads the program's files; a shell starts the program by the words before it.
    """
    root = (folder.resolve() / FILES) if has_files(folder) else Path("/")
    if not str(root).isprintable():
        raise BadInput("gdb cannot read a folder of this name", str(folder), "rename it")
    wrapper = shlex.join(apart(own, folder, calls, debugged=True))
    first = ["set breakpoint pending on", "unset environment"]
    first += [f"set exec-wrapper {wrapper}", f"set sysroot {root}"]
    # Without it gdb would not find the way from this library's functions to the program's.
    first.append(f"set solib-search-path {library_path().resolve().parent}")
    return first, str(root / calls.executable.lstrip("/"))


def list_calls(folder: Path) -> int:
    """Print a line for each call of a recording; return the exit code."""
    read(folder)
    return subprocess.run([agent_path(), "calls", "--list", folder / LOG], check=False).returncode


def _checked(folder: Path) -> tuple[RecordingInfo, CallsOfLog]:
    about = read(folder)
    check_file(folder / LOG, MOST_BYTES)
    calls = calls_of(folder / LOG)
    checked(folder, calls)
    return about, calls


def _outcome(
    page: bytes, folder: Path, about: RecordingInfo, calls: CallsOfLog, code: int
) -> Replayed:
    end, length, done, outputs = HEAD.unpack_from(page)
    text = one_line(page[HEAD.size : HEAD.size + length].decode(errors="replace"))
    if end not in set(End) or done > calls.calls or outputs > calls.outputs:
        what = f"{one_line(calls.executable)} has overwritten what its replay says"
        raise DelaylabError(what, str(folder), "do not trust this recording")
    how, unseen = End(end), tuple(one_line(name) for name in calls.unseen)
    if how == End.SILENT and done == 0 and code >= 0:
        what = f"{one_line(calls.executable)} does not load the library that replays"
        raise DelaylabError(what, str(folder), "it is not the recorded program: record it again")
    if how == End.DAMAGED:
        raise DelaylabError(text, str(LOG))
    if how == End.FAILED:
        raise DelaylabError(f"{calls.executable} cannot be run with its files alone: {text}")
    if how == End.FOREIGN:
        what = f"{calls.executable} is not as it was recorded: {text} is another one"
        fix = "install the version that was recorded, or record it again"
        raise DelaylabError(what, fix="record it again" if has_files(folder) else fix)
    if how == End.UNTIL:
        return Replayed(
            "until", done, outputs, f"stopped before call {done + 1}: {text}", unseen, about.cut
        )
    if how == End.DIFFERS:
        return Replayed("differs", done, outputs, text, unseen, about.cut)
    recorded, now = _end(about, calls), _now(how, code)
    whole = done == calls.calls
    if whole and recorded == now:
        return Replayed("equal", done, outputs, now, unseen, about.cut)
    what = f"after call {done}: recorded {recorded if whole else 'another call'}, replayed {now}"
    if how == End.LOG:
        what += f" {text}"
    return Replayed("differs", done, outputs, what, unseen, about.cut)


def _end(about: RecordingInfo, calls: CallsOfLog) -> str:
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
