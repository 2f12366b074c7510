"""A recorded program that runs again: with its own files, and without rights (`agent apart`).

Whoever made a recording need not be trusted. What is in it goes to the agent by descriptors, never
by the environment or the command line of a program that has the user's rights.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from delaylab.agent.binary import agent_path
from delaylab.errors import BadInput
from delaylab.io.printable import one_line, printable
from delaylab.replaying.calls import CallsOfLog
from delaylab.replaying.library import library_path
from delaylab.replaying.record import FILES, LOG
from delaylab.units import MEBIBYTE

PAGE = 4096
"""The bytes of the page that outlives a replay."""
HIGH = 1000
"""The first descriptor of a replay's own (`placeholders.rs` of `crates/replay`)."""
OURS = ("LD_PRELOAD=", "DELAYLAB_")
"""The beginnings of variables that the recording set, or that a replay sets."""
MOST_PRINTED = MEBIBYTE
"""The most bytes of a program's output that are printed."""
MOST_OBJECTS = 512
"""The most programs and libraries that a recorded process consists of."""


@dataclass(frozen=True)
class Given:
    """The open descriptors of a replay: its log, its page, and the program's words and variables.

    They are no files, so that a replay which is killed leaves none.
    """

    log: int
    page: int
    words: int
    variables: int
    output: int

    @property
    def descriptors(self) -> list[int]:
        """Return the descriptors that the process needs."""
        return [self.log, self.page, self.words, self.variables, self.output]


@contextmanager
def given(
    folder: Path, calls: CallsOfLog, until: int | None, *, traps: bool = False
) -> Iterator[Given]:
    """Open what a replay needs, and close it in the end; `traps` stop it for a debugger.

    What the program prints is printed to standard error, until the end of the block.
    """
    with (
        (folder / LOG).open("rb") as log,
        in_memory(bytes(PAGE)) as page,
        _high(log.fileno()) as fd,
        _printed() as output,
    ):
        env = _environment(calls, fd, page, until)
        if traps:
            env["DELAYLAB_REPLAY_TRAPS"] = "1"
        words = _listed([calls.executable, *calls.argv])
        variables = _listed([f"{name}={value}" for name, value in env.items()])
        with in_memory(words) as command, in_memory(variables) as listed:
            yield Given(fd, page, command, listed, output)


def apart(given: Given, folder: Path, calls: CallsOfLog, *, debugged: bool = False) -> list[str]:
    """Return the words of the agent that runs the program; with `debugged` it becomes it."""
    words = [str(agent_path()), "apart", "--page", str(given.page)]
    words += ["--words", str(given.words), "--variables", str(given.variables)]
    words += ["--output", str(given.output)]
    if has_files(folder):
        words += ["--kept", str(folder.resolve() / FILES)]
    else:
        if len(calls.objects) > MOST_OBJECTS:
            what = f"its program has {len(calls.objects)} libraries, and {MOST_OBJECTS} are allowed"
            raise BadInput(what, str(folder), "record it again")
        words += [f"--object={path}" for path in [calls.executable, *calls.objects]]
    words.append(f"--object={library_path().resolve()}")
    # A debugger adds the program.
    return [*words, *(["--debugged", "--"] if debugged else ["--parent", str(os.getpid())])]


def has_files(folder: Path) -> bool:
    """Return True if a recording has the files of its program, which came from a container.

    Raises BadInput if they are a link: it could lead to all files of this machine.
    """
    try:
        mode = (folder / FILES).lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise BadInput("is not a folder", str(folder / FILES), "copy the whole recording again")
    return True


def checked(folder: Path, calls: CallsOfLog) -> None:
    """Raise BadInput unless a recording's program is there."""
    name = calls.executable
    fits = name.startswith("/") and name.isprintable() and ".." not in Path(name).parts
    what = f"the recorded program {one_line(name)!r}"
    if not calls.argv or not fits:
        raise BadInput(f"{what} cannot be one", str(folder), "record it again")
    if has_files(folder):
        if not stat.S_ISREG(_mode(folder / FILES / name.lstrip("/"))):
            what = f"{what} is not in it"
            raise BadInput(
                what, str(folder / FILES), "copy the whole recording, or record it again"
            )
    elif not (Path(name).is_file() and os.access(name, os.X_OK)):
        what = f"{what} is not on this machine"
        raise BadInput(what, str(folder), "replay it where it was recorded, or install it")


def _mode(place: Path) -> int:
    """Return what kind of file a path leads to, without following a link at its end; 0 if none."""
    try:
        return place.lstat().st_mode
    except OSError:
        return 0


def _listed(texts: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(text) + b"\0" for text in texts)


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


@contextmanager
def in_memory(content: bytes) -> Iterator[int]:
    """Make a file that is only in memory and keeps its length; provide its descriptor."""
    made = os.memfd_create("delaylab-replay", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.write(made, content)
        fcntl.fcntl(made, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
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


@contextmanager
def _printed() -> Iterator[int]:
    """Provide the descriptor of a pipe whose bytes are printed until the end of the block."""
    reader, writer = os.pipe()
    thread = threading.Thread(target=_print, args=(reader,), daemon=True)
    thread.start()
    try:
        with _high(writer) as descriptor:
            os.close(writer)
            yield descriptor
    finally:
        # The program has ended, and with it the last one who writes.
        thread.join()


def _print(reader: int) -> None:
    """Print what comes by a pipe, as text without control characters."""
    left = MOST_PRINTED
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with open(reader, "rb", buffering=0) as pipe:
        while piece := pipe.read(1 << 16):
            text = decoder.decode(piece[:left])
            if left > 0 and len(piece) >= left:
                text += f"\n(only its first {MOST_PRINTED >> 20} MiB are printed)\n"
            left = max(0, left - len(piece))
            if text:
                print(printable(text), end="", file=sys.stderr, flush=True)
