"""Tar archives from nodes, unpacked into a new folder. Nothing in them is trusted.

Each folder on the way to an entry is opened without following links. So nothing is ever written or
made through a link, however names and links of an archive are combined, and a link lies as deep as
its name says.

A file is an entry with its first piece, and one of type `MORE` for each further piece, whose header
has the offset (`operations/copy.rs` of `crates/agent`). So holes are not sent, and stay holes. What
is written is what was sent, whatever offsets a header claims; they have a bound.
"""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast

from delaylab.io.descriptors import FOLDER, opened_below
from delaylab.io.tar_headers import BoundedHeader, offset

ROOT = "copied"
"""The name in an archive of what is copied (`operations/copy.rs` of `crates/agent`)."""
MORE = b"M"
"""The type of a piece that continues the file before it (GNU tar: a file on several volumes)."""
MODE = 0o777
"""The bits of a mode that are copied: no program becomes another user by it."""
MOST_ENTRIES = 1_000_000
"""Largest number of files, folders and links of an archive."""
MOST_SIZE = 1 << 44
"""Largest size of a file with its holes: 16 TiB, as on ext4."""
MOST_OF_PROGRAM = 1 << 32
"""Largest size of a file where only a file is wanted: 4 GiB, for a program or a library."""
SMALL = 4096
"""A piece with fewer bytes counts as a file, so that an archive of them has an end."""
MOST_NAMES = 1 << 26
"""Largest number of bytes of the names that are kept to the end, those of folders and links."""
KINDS = (
    *(tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, MORE),
)
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
UNFIT = frozenset(
    {
        *(errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
        *(errno.ENAMETOOLONG, errno.EINVAL),
    }
)
"""Errors of unpacking into a new folder that an archive alone can cause."""


class Unfit(Exception):
    """An archive that is not as an agent of delaylab makes them; the text says why."""


class Readable(Protocol):
    """The one method of a file that reading an archive needs."""

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, fewer only at the end."""


def unpack(archive: Readable, place: Path, *, only_a_file: bool = False) -> list[str]:
    """Unpack an archive as `ROOT` into a folder that is new and this user's alone.

    Links are made last. One that leads out of what is copied is left out; return those, in words.
    With `only_a_file` an archive of a folder is refused, and one of a file of over 4 GiB. Raises
    Unfit for an archive that no agent of delaylab makes, OSError where this machine cannot store
    it.
    """
    links: dict[PurePosixPath, str] = {}
    modes: dict[PurePosixPath, int] = {}
    below = _Place(place)
    try:
        packed = tarfile.open(  # noqa: SIM115  closing it would read on
            fileobj=cast("IO[bytes]", archive), mode="r|", tarinfo=_Header
        )
        entries = kept = 0
        while (member := packed.next()) is not None:
            vars(packed)["members"].clear()  # all would be kept
            name = _inside(member.name)
            is_file = member.isreg() or member.type == MORE
            _require_wanted(member, only_a_file=only_a_file, is_file=is_file)
            entries += member.type != MORE or member.size < SMALL
            kept += 0 if is_file else len(member.name) + len(member.linkname)
            if entries > MOST_ENTRIES or kept > MOST_NAMES:
                raise Unfit(f"it has too many files: at most {MOST_ENTRIES} are taken")
            if member.isdir():
                below.make_folder(name)
                modes[name] = member.mode & MODE | 0o700
            elif member.issym():
                links[name] = member.linkname
            else:
                below.write(name, packed, member)
        below.end_file()
        inward = {name: leads for name, leads in links.items() if not _leads_out(name, leads)}
        for name, leads in inward.items():
            below.link(name, leads)
        for name, mode in modes.items():
            below.set_mode(name, mode)
    except (tarfile.TarError, ValueError) as error:
        raise Unfit(str(error)) from error
    except OSError as error:
        if error.errno in UNFIT:
            raise Unfit(f"{error.strerror}: {error.filename}") from error
        raise
    finally:
        below.close()
    return [
        f"{name.relative_to(ROOT)}: a link that leads out of it, to {leads}"
        for name, leads in links.items()
        if name not in inward
    ]


class _Header(BoundedHeader):
    """A header of those types that agents write; `at` is the offset of a piece in its file."""

    at: int = 0

    def read_from(self, header: bytes | bytearray) -> None:
        if self.type not in KINDS:
            raise ValueError(f"{self.name!r} is neither a file nor a folder")
        if self.type == MORE:
            self.at = offset(header)
            if _end_of(self) > MOST_SIZE:
                raise ValueError(f"{self.name!r} has a size of {_end_of(self)} bytes")


def _require_wanted(member: tarfile.TarInfo, *, only_a_file: bool, is_file: bool) -> None:
    """Raise Unfit unless what is copied is a file or folder, or a file that may be a program."""
    may_be = is_file or (
        not only_a_file and (len(_inside(member.name).parts) > 1 or member.isdir())
    )
    if not may_be:
        raise Unfit("it is no file")
    if only_a_file and _end_of(member) > MOST_OF_PROGRAM:
        raise Unfit(f"it is larger than {MOST_OF_PROGRAM >> 30} GiB")


def _end_of(member: tarfile.TarInfo) -> int:
    """Return where a piece ends in its file."""
    assert isinstance(member, _Header), "all headers are"
    return member.at + member.size


class _Place:
    """A folder of this machine into which an archive is unpacked, by descriptors."""

    def __init__(self, place: Path) -> None:
        self._top = os.open(place, FOLDER)
        self._parent, self._opened = PurePosixPath(), self._top
        self._file: _File | None = None

    def close(self) -> None:
        """Close all descriptors."""
        self.end_file()
        self._leave()
        os.close(self._top)

    def make_folder(self, name: PurePosixPath) -> None:
        self.end_file()
        os.mkdir(name.name, 0o700, dir_fd=self._folder_of(name))

    def write(self, name: PurePosixPath, packed: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Write a new file with an archive's content, or a further piece of the one before.

        Raises ValueError for a piece that does not follow the one before.
        """
        assert isinstance(member, _Header), "all headers are"
        if member.isreg():
            self.end_file()
            created = os.open(name.name, CREATE, 0o600, dir_fd=self._folder_of(name))
            self._file = _File(name, os.fdopen(created, "wb"), member.mode & MODE)
        elif self._file is None or self._file.name != name or member.at < self._file.size:
            raise ValueError(f"a piece of {member.name!r} does not follow the one before it")
        self._file.write(packed, member)

    def end_file(self) -> None:
        """End the file that is being written."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def link(self, name: PurePosixPath, leads: str) -> None:
        """Make a link."""
        os.symlink(leads, name.name, dir_fd=self._folder_of(name))

    def set_mode(self, name: PurePosixPath, mode: int) -> None:
        """Set the mode of a folder."""
        folder = os.open(name.name, FOLDER, dir_fd=self._folder_of(name))
        try:
            os.fchmod(folder, mode)
        finally:
            os.close(folder)

    def _folder_of(self, name: PurePosixPath) -> int:
        """Open the folder that an entry is in; files of one folder usually come together."""
        if name.parent != self._parent:
            self._leave()
            self._opened = opened_below(self._top, name.parent.parts)
            self._parent = name.parent
        return self._opened

    def _leave(self) -> None:
        if self._opened != self._top:
            with suppress(OSError):
                os.close(self._opened)
        self._parent, self._opened = PurePosixPath(), self._top


class _File:
    """A file that is being written, piece by piece; `size` is where the last one ended."""

    def __init__(self, name: PurePosixPath, file: BufferedWriter, mode: int) -> None:
        self.name, self.size = name, 0
        self._file, self._mode = file, mode

    def write(self, packed: tarfile.TarFile, member: _Header) -> None:
        """Write a piece; what is before it and not written is a hole."""
        content = packed.extractfile(member)
        assert content is not None, "it is the content of a file"
        self._file.seek(member.at)
        shutil.copyfileobj(content, self._file)
        self.size = _end_of(member)

    def close(self) -> None:
        """Give the file its size and mode, and close it."""
        with self._file as file:
            file.truncate(self.size)
            os.fchmod(file.fileno(), self._mode)


def _inside(name: str) -> PurePosixPath:
    """Return a member's name; raise ValueError if it is not below the root."""
    path = PurePosixPath(name)
    if path.parts[:1] != (ROOT,) or ".." in path.parts or "\0" in name:
        raise ValueError(f"{name!r} leads out of it")
    return path


def _leads_out(link: PurePosixPath, target: str) -> bool:
    """Return True if a link may lead out of the root, or is the root itself.

    Its target may go up first, as far as the root, and then down: what it passes there is a folder
    or a link for which the same holds.
    """
    depth = len(link.parts) - 2
    parts = PurePosixPath(target).parts
    up = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return depth < 0 or target.startswith("/") or up > depth or ".." in parts[up:]
