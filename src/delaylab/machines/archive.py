"""A file or folder of this machine as a tar archive, as it is stored on another machine.

Owners, modes, times, links and hard links are kept; of sparse files only the data is sent. Devices,
sockets and extended attributes are left out.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol, cast

from delaylab.io.pieces import data_of
from delaylab.io.tar_headers import number, with_fields

ROOT, END = "stored", "end"
"""The names in the archive of what is stored, and of its last entry (`machine/store.rs`)."""
BUFFER = 1 << 18
BLOCK = 512
FEW, MORE = 4, 21
"""Pieces of a sparse file that its header has room for, and each block after it."""
PIECES, HAS_MORE, WHOLE = slice(386, 482), slice(482, 483), slice(483, 495)
"""The fields of a sparse file's header (tar(5), "GNU tar archives")."""


class ArchiveOutput(Protocol):
    """A receiver of an archive."""

    def write(self, data: bytes, /) -> int:
        """Take bytes; return how many."""


def write(path: Path, output: ArchiveOutput) -> None:
    """Write the archive of a file or folder; raise OSError if it cannot be read."""
    with tarfile.open(
        fileobj=cast("IO[bytes]", output), mode="w|", format=tarfile.GNU_FORMAT, bufsize=BUFFER
    ) as packed:
        for each, name in _each(path):
            _add(packed, each, name)
        packed.addfile(tarfile.TarInfo(END), io.BytesIO())


def size_bytes(path: Path) -> int:
    """Return about how many bytes a file or folder takes, without holes."""
    return sum(each.lstat().st_blocks * BLOCK for each, _ in _each(path))


def _each(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield a file, or a folder and all below it, with their names in the archive."""
    whole = path.resolve()
    yield whole, ROOT
    if whole.is_dir():
        for folder, folders, files in os.walk(whole, onerror=_raise):
            folders.sort()
            for name in sorted([*folders, *files]):
                below = Path(folder) / name
                yield below, f"{ROOT}/{below.relative_to(whole).as_posix()}"


def _raise(error: OSError) -> None:
    raise error


def _add(packed: tarfile.TarFile, path: Path, name: str) -> None:
    info = packed.gettarinfo(path, name)
    if info is None or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
        return
    # Names of users mean others there; numbers are those of the image.
    info.uname = info.gname = ""
    if not info.isreg():
        packed.addfile(info)
        return
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        sparse = about.st_blocks * BLOCK < about.st_size
        if sparse and stat.S_ISREG(about.st_mode):
            _add_sparse(packed, info, file)
        else:
            packed.addfile(info, file)


def _add_sparse(packed: tarfile.TarFile, info: tarfile.TarInfo, file: IO[bytes]) -> None:
    """Add a file of which only the data is in the archive (tar(5), "GNU tar archives")."""
    whole = info.size
    pieces = _pieces(file.fileno(), whole)
    info.type, info.size = tarfile.GNUTYPE_SPARSE, sum(length for _, length in pieces)
    made = info.tobuf(tarfile.GNU_FORMAT, packed.encoding or "utf-8", packed.errors or "strict")
    listed = [number(start) + number(length) for start, length in pieces]
    fields = [
        (PIECES, b"".join(listed[:FEW])),
        (HAS_MORE, bytes([len(listed) > FEW])),
        (WHOLE, number(whole)),
    ]
    _put(packed, with_fields(made, fields))
    for at in range(FEW, len(listed), MORE):
        more = b"".join(listed[at : at + MORE]).ljust(MORE * 24, b"\0")
        _put(packed, (more + bytes([at + MORE < len(listed)])).ljust(BLOCK, b"\0"))
    for start, length in pieces:
        file.seek(start)
        left = length
        while left:
            data = file.read(min(left, BUFFER))
            if not data:
                raise OSError(errno.EIO, "it became shorter while it was read")
            _put(packed, data)
            left -= len(data)
    _put(packed, bytes(-info.size % BLOCK))


def _pieces(file: int, whole: int) -> list[tuple[int, int]]:
    """Return where the data of a file is: starts and lengths; the last one ends with the file."""
    found, at = [], 0
    while at < whole:
        start, at = data_of(file, at, whole)
        if start < at:
            found.append((start, at - start))
    return found if found and sum(found[-1]) == whole else [*found, (whole, 0)]


def _put(packed: tarfile.TarFile, data: bytes) -> None:
    assert packed.fileobj is not None
    packed.fileobj.write(data)
    packed.offset += len(data)
