"""A file in pieces, as far as it can be read: without its holes, and whatever its size says.

An agent reads files of its node in the same way (`files/pieces.rs` of `crates/os`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

PIECE = 1 << 18
"""Largest number of bytes of a piece."""
MOST_UNSIZED = 256 << 20
"""Largest number of bytes of a file without a size, such as those of `/proc`."""
BLOCK = 512
"""Number of bytes of a block, in which the kernel counts what a file occupies."""
NO_HOLES = frozenset({errno.EINVAL, errno.EOPNOTSUPP})
"""Errors of a file system that knows of no holes."""
ZEROS = bytes(PIECE)


def pieces(file: int) -> Iterator[tuple[int, bytes]]:
    """Yield a file's bytes with the offset of each piece; an empty one ends it after a hole.

    It is read up to the size that it has at first, or to its end if that comes earlier. Raises
    OSError if it cannot be read, also for one without a size that does not end.
    """
    about = os.fstat(file)
    most = about.st_size or MOST_UNSIZED
    sparse = about.st_blocks * BLOCK < about.st_size
    at = given = 0
    while at < most:
        at, stop = _data(file, at, most) if sparse else (at, most)
        wanted = min(stop - at, PIECE)
        data = _read(file, wanted)
        if len(data) == MOST_UNSIZED - at and not about.st_size:
            why = f"it has no size, and goes on after {MOST_UNSIZED >> 20} MiB"
            raise OSError(errno.EFBIG, why)
        if data and not (sparse and data == ZEROS[: len(data)]):
            yield at, data
            given = at + len(data)
        at += len(data)
        if len(data) < wanted:
            break
    # It may have become shorter meanwhile.
    end = min(os.fstat(file).st_size, at)
    if end > given:
        yield end, b""


def data_of(file: int, at: int, most: int) -> tuple[int, int]:
    """Return where the next data of a file begins and ends; `most` for both if there is none."""
    try:
        start = min(os.lseek(file, at, os.SEEK_DATA), most)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return most, most
        if error.errno in NO_HOLES:
            return at, most
        raise
    return start, min(os.lseek(file, start, os.SEEK_HOLE), most) if start < most else most


def _data(file: int, at: int, most: int) -> tuple[int, int]:
    """Return where the next data begins and ends, and go there."""
    start, stop = data_of(file, at, most)
    if start < stop:
        os.lseek(file, start, os.SEEK_SET)
    return start, stop


def _read(file: int, size: int) -> bytes:
    """Read that many bytes, fewer only at the file's end."""
    found = []
    while size and (data := os.read(file, size)):
        found.append(data)
        size -= len(data)
    return b"".join(found)
