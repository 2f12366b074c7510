"""Verb `delaylab replay`: a recorded process runs again, without its lab and network."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from delaylab.agent.binary import agent_path, library_path
from delaylab.agent.calls import CallsOfLog, calls_of
from delaylab.errors import BadInput, DelaylabError, NotHere
from delaylab.io.files import check_file
from delaylab.io.interrupts import deferred
from delaylab.io.printable import one_line
from delaylab.verbs.record import LOG, Recorded, read

MOST_BYTES = 1 << 30
"""The longest log (`LIMIT` in `crates/replay/src/recorder.rs`)."""
PAGE = 4096
HEAD = struct.Struct("<IIQQ")
"""The page that outlives a replay: how it ended, the text's length, equal calls and outputs."""
OURS = ("LD_PRELOAD=", "DELAYLAB_RECORD=")
"""The beginnings of variables that the recording set."""


class End(IntEnum):
    """The way in which a replay ended, as the library says (`difference.rs` of `crates/replay`)."""

    SILENT = 0
    LOG = 1
    DIFFERS = 2
    UNTIL = 3
    DAMAGED = 4
    FOREIGN = 5
    EXIT = 6


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
    with TemporaryDirectory(prefix="delaylab-replay-") as place:
        env = _environment(folder, Path(place), calls, until)
        process: subprocess.Popen[bytes] | None = None
        try:
            with deferred():
                process = subprocess.Popen(
                    calls.argv,
                    executable=calls.executable,
                    env=env,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=sys.stderr.fileno(),
                    stderr=sys.stderr.fileno(),
                    start_new_session=True,
                )
            code = process.wait()
        finally:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        return _outcome(Path(place), about, calls, code)


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
    with TemporaryDirectory(prefix="delaylab-replay-") as place:
        env = _environment(folder, Path(place), calls, until) | {"DELAYLAB_REPLAY_TRAPS": "1"}
        # The variables are the process's, and not gdb's own: it would load the library as well.
        given = [
            f"set environment {name} {value}" for name, value in env.items() if "\n" not in value
        ]
        script = Path(place) / "commands"
        first = ["set startup-with-shell off", "set breakpoint pending on", "unset environment"]
        script.write_text("\n".join([*first, *given, "set cwd /", "run", ""]))
        argv = [gdb, "-q", "-x", str(script), *words, "--args", calls.executable, *calls.argv[1:]]
        # Ctrl-C is gdb's.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return subprocess.run(
                argv, check=False, preexec_fn=lambda: signal.signal(signal.SIGINT, before)
            ).returncode
        finally:
            signal.signal(signal.SIGINT, before)


def list_calls(folder: Path) -> int:
    """Print a line for each call of a recording; return the exit code."""
    read(folder)
    return subprocess.run([agent_path(), "calls", "--list", folder / LOG], check=False).returncode


def _checked(folder: Path) -> tuple[Recorded, CallsOfLog]:
    about = read(folder)
    check_file(folder / LOG, MOST_BYTES)
    calls = calls_of(folder / LOG)
    if not calls.argv or not os.access(calls.executable, os.X_OK):
        what = f"the recorded program {one_line(calls.executable)!r} is not on this machine"
        raise BadInput(what, str(folder), "replay it where it was recorded, or install it")
    return about, calls


def _environment(folder: Path, place: Path, calls: CallsOfLog, until: int | None) -> dict[str, str]:
    """Return the variables of the recorded process, and those of its replay."""
    (place / "status").write_bytes(bytes(PAGE))
    recorded = (each.partition("=") for each in calls.env if not each.startswith(OURS))
    env = {name: value for name, _, value in recorded if name}
    env |= {
        "LD_PRELOAD": str(library_path()),
        "DELAYLAB_REPLAY": str((folder / LOG).resolve()),
        "DELAYLAB_REPLAY_STATUS": str(place / "status"),
    }
    return env if until is None else env | {"DELAYLAB_REPLAY_UNTIL": str(until)}


def _outcome(place: Path, about: Recorded, calls: CallsOfLog, code: int) -> Replayed:
    page = (place / "status").read_bytes()
    end, length, done, outputs = HEAD.unpack_from(page)
    text = one_line(page[HEAD.size : HEAD.size + length].decode(errors="replace"))
    how = End(end)
    if how == End.DAMAGED:
        raise DelaylabError(text, str(LOG))
    if how == End.FOREIGN:
        what = f"{calls.executable} is not as it was recorded: {text} is another one"
        raise DelaylabError(what, fix="install the version that was recorded, or record it again")
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
