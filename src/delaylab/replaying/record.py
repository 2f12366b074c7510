"""Verb `delaylab record`: the calls of a node's program into a folder, to be replayed."""

from __future__ import annotations

import os
import time
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console

from delaylab.errors import BadInput, DelaylabError
from delaylab.io.files import new_folder, read_bytes, write_new
from delaylab.io.printable import one_line
from delaylab.io.terminal import print_error
from delaylab.io.values import JsonObject
from delaylab.lab.copies import fetch
from delaylab.lab.programs.programs import states
from delaylab.lab.running import LiveLab
from delaylab.replaying.calls import CallsOfLog, calls_of
from delaylab.replaying.ongoing import recording
from delaylab.units import Duration

LOG = "calls.log"
FILES = "files"
"""The folder of a recording that has the program and its libraries, if they were a container's."""
FINDS = ("/etc/ld.so.cache", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group")
"""The files by which the C library finds libraries and users, by calls that are not recorded."""
ABOUT = "recording.json"
READABLE = 0o755
"""The mode of kept files: a replay runs them as a user without rights."""
VERSION = 1
MOST_BYTES = 1 << 20
CUT = (
    "note: the recording ended before the program did: its log had reached 1 GiB, or a call had "
    "more than 4 MiB"
)
SHELLS = frozenset({"sh", "bash", "dash", "busybox", "ash", "zsh"})
"""Programs that start others, which are not recorded."""


class RecordingInfo(BaseModel):
    """The program that a folder's log is of (`recording.json`).

    `cut` is True if the recording ended before the program: the log was full, or a call too large.
    `again` is True if the program ended in its first second, and was started again without the
    library.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int = Field(ge=1)
    lab: str
    node: str
    kind: str
    program: str
    began_ns: int
    seconds: float = Field(ge=0)
    exit: int | None = None
    killed: int | None = None
    cut: bool = False
    again: bool = False


def record(
    lab: LiveLab, node: str, program: str | None, out: Path | None, length: Duration | None
) -> Path:
    """Record a program of a node until it ends, or for a length of time, or until Ctrl-C.

    Return the folder that holds the recording. Raises BadInput if the node has no such program,
    DelaylabError if it cannot be recorded.
    """
    kind = lab.planned(node).kind
    name = _program(lab, node, program)
    if out is not None and out.exists():
        raise BadInput("is there already", str(out), "remove it, or name another folder")
    with recording(lab, node, name) as running:
        print_error(f"recording {name} of node {node}; Ctrl-C ends it")
        began = time.monotonic()
        running.wait(None if length is None else length.ns / 1e9)
        seconds = time.monotonic() - began
        done, log = running.end()
    folder = new_folder(out or Path(f"{lab.name}-{node}-{name}.recording"))
    ended = done.ended
    about = RecordingInfo(
        version=VERSION,
        lab=lab.name,
        node=node,
        kind=kind,
        program=name,
        began_ns=done.began_ns,
        seconds=round(seconds, 3),
        exit=None if ended is None else ended.exit,
        killed=None if ended is None else ended.killed,
        cut=done.cut,
        again=done.again,
    )
    write_new(folder / LOG, log)
    write_new(folder / ABOUT, (about.model_dump_json(indent=1) + "\n").encode())
    if lab.planned(node).own_root:
        _keep_files(lab, node, folder)
    return folder


def _keep_files(lab: LiveLab, node: str, folder: Path) -> None:
    """Copy the program and its libraries from a node with a root file system of its own.

    What the node says of their paths is not trusted: none leads out of the folder.
    """
    calls = calls_of(folder / LOG)
    for name in dict.fromkeys([calls.executable, *calls.objects, *FINDS]):
        path = PurePosixPath(os.path.normpath(name))
        if not path.is_absolute() or "\0" in name:
            continue
        place = folder.joinpath(FILES, *path.parts[1:])
        try:
            # Only files are kept, so no link of the node is ever on the way to the next one.
            place.parent.mkdir(parents=True, exist_ok=True)
            fetch(lab, node, name, place, only_a_file=True)
            place.chmod(READABLE)
        except (DelaylabError, OSError) as error:
            if name not in FINDS:
                print_error(f"note: {name} of node {node} is not kept: {one_line(str(error))}")


def _program(lab: LiveLab, node: str, program: str | None) -> str:
    """Return the program's name: the only one of the node if none is given."""
    known = [each.name for each in states(lab, only={node}).get(node, [])]
    names = ", ".join(known)
    if not known:
        raise BadInput(f"node {node!r} has no programs", fix="`start:` in the lab file names some")
    if program is None and len(known) > 1:
        raise BadInput(f"node {node!r} has several programs", fix=f"--program: one of {names}")
    name = program or known[0]
    if name not in known:
        raise BadInput(f"node {node!r} has no program {name!r}", fix=f"there are: {names}")
    return name


def read(folder: Path) -> RecordingInfo:
    """Return what a recording is of; raise BadInput if the folder has none."""
    place = folder / ABOUT
    try:
        about = RecordingInfo.model_validate_json(read_bytes(place, MOST_BYTES))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"is not a recording: {field}: {first['msg']}", str(place)) from None
    if about.version != VERSION:
        what = f"is a recording of version {about.version}, and this delaylab reads {VERSION}"
        raise BadInput(what, str(place), "record it again, or take the delaylab that made it")
    return about


def as_json(folder: Path) -> JsonObject:
    """Return a recording in numbers."""
    about, calls = read(folder), calls_of(folder / LOG)
    return {
        "folder": str(folder),
        **about.model_dump(),
        **calls.model_dump(exclude={"env"}),
        "bytes_per_s": _rate(calls.late_bytes, calls),
        "plain_bytes_per_s": _rate(calls.plain_late_bytes, calls),
        "plain_input_bytes_per_s": _rate(calls.plain_late_input_bytes, calls),
    }


def print_recording(folder: Path, console: Console) -> None:
    """Print what was recorded, and how fast its log grew after the program's start."""
    about, calls = read(folder), calls_of(folder / LOG)
    lines = [
        f"recorded {about.program} of node {about.node} for {about.seconds:.1f} s: "
        f"{calls.calls} calls, {calls.outputs} of them outputs"
        + (f", in {calls.threads} threads" if calls.threads > 1 else ""),
        _rates(calls),
    ]
    if about.cut:
        lines.append(CUT)
    then = "started again without the library" if about.again else "not started again"
    soon = " in its first second" if about.again else ""
    if about.killed is not None:
        lines.append(f"it ended by signal {about.killed}{soon}, and was {then}")
    elif about.exit is not None:
        lines.append(f"it ended with exit code {about.exit}{soon}, and was {then}")
    if calls.unseen:
        lines.append(f"note: not recorded, so a replay may differ: {', '.join(calls.unseen)}")
    if Path(calls.executable).name in SHELLS:
        lines.append(
            f"note: this is the shell {calls.executable}; what it starts is not recorded. "
            "Begin the program's `run:` with `exec`"
        )
    lines.append(f"replay it: delaylab replay {folder}")
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _rates(calls: CallsOfLog) -> str:
    """Return the rates of the second half, when the program has long been started."""
    rate, plain = _rate(calls.late_bytes, calls), _rate(calls.plain_late_bytes, calls)
    inputs = _rate(calls.plain_late_input_bytes, calls)
    return (
        f"log: {calls.bytes} bytes; in the second half {rate:.0f} bytes/s "
        f"(plain form: {plain:.0f}, its inputs alone {inputs:.0f})"
    )


def _rate(count: int, calls: CallsOfLog) -> float:
    return round(count / calls.late_s, 1) if calls.late_s else 0.0
