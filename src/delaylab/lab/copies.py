"""Files and folders between this machine and a node, as tar archives over a session.

The agent in a guest is the guest's: it may send any archive. It is unpacked into a new folder that
only this user may enter (`unpacking.py`), and appears under its final name only when it is whole.
"""

from __future__ import annotations

import io
import itertools
import os
import stat
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Literal, cast

from delaylab.agent.failures import failed_command
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.stream import readable
from delaylab.agent.wire.sessions import Exec
from delaylab.errors import BadInput, DelaylabError
from delaylab.io.pieces import pieces
from delaylab.io.removal import remove_tree
from delaylab.io.tar_headers import OFFSET, binary, with_fields
from delaylab.lab.running import LiveLab
from delaylab.lab.unpacking import MODE, MORE, ROOT, Unfit, unpack

AGENT = "/proc/self/exe"
WINDOW = 4 << 20
"""Largest number of bytes of an archive between a node and this process."""
SILENT_S = 60.0
"""Seconds for which a node may send nothing."""
MOST_SAID = 1 << 20
"""Largest number of bytes of what a node left out, and of its errors, that are kept."""
MOST_AFTER = 1 << 20
"""Largest number of bytes that may come after an archive's end."""


def fetch(
    lab: LiveLab, node: str, path: str, target: Path, *, only_a_file: bool = False
) -> list[str]:
    """Copy a file or folder of a node to a path of this machine, or into it if it is a folder.

    Return what was left out, in words. Raise BadInput if the target cannot be made or is a folder
    that is there already, DelaylabError if the node has no such path, sends an archive that leads
    out of the target, or a folder where `only_a_file`. Nothing is then left of it.
    """
    final = target / (PurePosixPath(path).name or node) if target.is_dir() else target
    if final.is_dir():
        raise BadInput("is there already", str(final), "remove it, or name another place")
    if not final.parent.is_dir():
        raise BadInput("is not a folder", str(final.parent), "make it first")
    argv = _argv(lab, node, "pack", path)
    with _beside(final) as place, _running(lab, node, argv) as archive:
        left_out = archive.unpack(place, only_a_file=only_a_file)
        left_out += archive.end()
        (place / ROOT).replace(final)
    return left_out


def send(lab: LiveLab, source: Path, node: str, path: str) -> list[str]:
    """Copy a file or folder of this machine to a path in a node, or into it if it is a folder.

    Return what was left out, in words. Raise BadInput if the source is not there, or if the path is
    not the node's own, DelaylabError if it cannot be read or written.
    """
    if not source.exists():
        raise BadInput("no such file or folder", str(source))
    whole = source.resolve()
    argv = [*_argv(lab, node, "unpack", path, writes=True), "--name", whole.name or node]
    left_out: list[str] = []
    with _running(lab, node, argv, takes=True) as archive:
        try:
            with tarfile.open(
                fileobj=cast("IO[bytes]", archive), mode="w|", format=tarfile.GNU_FORMAT
            ) as packed:
                for each, name in _each(whole, left_out):
                    try:
                        _pack(packed, each, name)
                    except Unreadable as error:
                        if each == whole:
                            raise DelaylabError(f"cannot be read: {error}", str(source)) from error
                        left_out.append(f"{each}: {error}")
        except OSError as error:
            raise DelaylabError(f"cannot be read: {error.strerror}", str(source)) from error
        return left_out + archive.end()


def _argv(lab: LiveLab, node: str, verb: str, path: str, *, writes: bool = False) -> list[str]:
    """Return the command that packs or unpacks in a node."""
    if not path.startswith("/"):
        raise BadInput(f"{path!r} does not begin with /", f"node {node}", "name it from / on")
    planned = lab.planned(node)
    own = planned.own_folders
    if writes and not own and not planned.own_root:
        raise BadInput(
            f"node {node!r} of kind {planned.kind} shares this machine's file system: a file in it "
            "would be this machine's",
            fix="give it a file by `files:` in the lab file, which gives it folders of its own, or "
            "take a container",
        )
    return [AGENT, verb, path, *(word for each in own for word in ("--within", each))]


def _each(whole: Path, left_out: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield a file or folder and all that is in it, folders first, with their archive's names.

    What is below a folder that cannot be read is left out.
    """

    def leave_out(error: OSError) -> None:
        if error.filename == str(whole):
            raise error
        left_out.append(f"{error.filename}: {error.strerror}")

    yield whole, ROOT
    if whole.is_dir():
        for folder, folders, files in os.walk(whole, onerror=leave_out):
            for name in sorted([*folders, *files]):
                path = Path(folder) / name
                yield path, f"{ROOT}/{path.relative_to(whole).as_posix()}"


class Unreadable(Exception):
    """A file or folder of which nothing could be read; the text says why."""


class Piece(tarfile.TarInfo):
    """The header of a piece of a file that continues the one before it, from `at` on."""

    at: int = 0

    def tobuf(
        self,
        format: Literal[0, 1, 2] | None = tarfile.GNU_FORMAT,
        encoding: str | None = "utf-8",
        errors: str = "strict",
    ) -> bytes:
        """Return the header as bytes; the names are the library's."""
        made = super().tobuf(format, encoding, errors)
        return with_fields(made, [(OFFSET, binary(self.at))])


def _pack(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file, a folder or a link to an archive; raise Unreadable for anything else."""
    try:
        about, info = path.lstat(), tarfile.TarInfo(name)
        info.mode, info.mtime = stat.S_IMODE(about.st_mode) & MODE, int(about.st_mtime)
        if stat.S_ISREG(about.st_mode):
            # A file whose reader would wait, such as /proc/kmsg, is none to copy.
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        elif stat.S_ISLNK(about.st_mode):
            info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
        elif stat.S_ISDIR(about.st_mode):
            info.type = tarfile.DIRTYPE
        else:
            raise Unreadable("neither a file nor a folder")
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    if info.isreg():
        try:
            _pack_file(archive, file, info)
        finally:
            os.close(file)
    else:
        archive.addfile(info)


def _pack_file(archive: tarfile.TarFile, file: int, info: tarfile.TarInfo) -> None:
    """Add what can be read of a file, piece by piece; raise Unreadable if that is nothing."""
    parts = pieces(file)
    try:
        first = next(parts, (0, b""))
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    if first[0] > 0:
        # It begins with a hole.
        first, parts = (0, b""), itertools.chain([first], parts)
    info.size = len(first[1])
    archive.addfile(info, io.BytesIO(first[1]))
    for at, content in parts:
        piece = Piece(info.name)
        piece.type, piece.at, piece.size = MORE, at, len(content)
        archive.addfile(piece, io.BytesIO(content))


class _Archive:
    """The archive of a command that runs in a node, as a file to read or to write."""

    def __init__(self, session: Session, argv: list[str], label: str, *, takes: bool) -> None:
        self._session, self._label, self._takes = session, label, takes
        self._content, self._errors = bytearray(), bytearray()
        self._ended = False
        session.on_output = self._keep
        self._result = session.start(Exec(argv=argv, stdin=takes, window=WINDOW))

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the archive's end."""
        while len(self._content) < size and not self._ended:
            self._turn()
        taken = bytes(self._content[:size])
        del self._content[:size]
        return taken

    def write(self, data: bytes) -> int:
        """Send bytes to the command."""
        self._session.stdin(bytes(data), time.monotonic() + SILENT_S)
        return len(data)

    def unpack(self, place: Path, *, only_a_file: bool) -> list[str]:
        """Unpack what the command sends into a new folder; return what was left out.

        Raise DelaylabError for what no agent of delaylab sends, and if the command sent nothing.
        """
        try:
            return unpack(self, place, only_a_file=only_a_file)
        except Unfit as error:
            # A command that found nothing to send, or ended early, says why.
            if self._ended or not (place / ROOT).exists():
                self.end()
            raise self._refused(str(error)) from error

    def end(self) -> list[str]:
        """Wait for the command's end; return what it left out.

        Raise DelaylabError if it failed, or sends more after the archive's end.
        """
        if self._takes:
            self._session.stdin(b"")
        more = len(self._content)
        while not self._ended:
            self._content.clear()
            self._turn()
            more += len(self._content)
            if more > MOST_AFTER:
                raise self._refused("it does not end")
        said = self._errors.decode(errors="replace")
        if self._result.done.exit != 0:
            raise failed_command(said or self._result.done.how, self._label)
        return said.splitlines()

    def _refused(self, why: str) -> DelaylabError:
        """Return the error for an archive that is not as an agent of delaylab makes them."""
        return DelaylabError(f"sent an archive that is refused: {why}", self._label)

    def _turn(self) -> None:
        if not self._session.has_frames and not readable(self._session, SILENT_S):
            raise AgentError(f"sent nothing for {SILENT_S:.0f} s", self._label)
        self._ended = self._session.poll_done()

    def _keep(self, frame: Frame) -> None:
        self._session.used(len(frame.payload))
        if frame.kind == FrameKind.STDERR:
            self._errors += frame.payload[: max(0, MOST_SAID - len(self._errors))]
        else:
            self._content += frame.payload


@contextmanager
def _running(
    lab: LiveLab, node: str, argv: list[str], *, takes: bool = False
) -> Iterator[_Archive]:
    session = lab.node_session(node)
    try:
        yield _Archive(session, argv, f"node {node}", takes=takes)
    finally:
        session.close()


@contextmanager
def _beside(final: Path) -> Iterator[Path]:
    """Make a folder on the file system of a path, for this user alone; remove it in the end."""
    try:
        place = Path(tempfile.mkdtemp(prefix=".delaylab-", dir=final.parent))
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", str(final.parent)) from error
    try:
        yield place
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(final)) from error
    finally:
        remove_tree(place)
