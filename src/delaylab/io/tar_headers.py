"""Headers of tar archives from strangers: none has much of the archive read at once."""

from __future__ import annotations

import tarfile
from typing import Self

MOST_NAME = 1 << 20
"""Largest number of bytes of a header that holds a long name or other values of the next one."""
READ_AT_ONCE = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


class BoundedHeader(tarfile.TarInfo):
    """A header whose size is checked before the library reads that much into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return a header; raise ValueError if it is too large or has a negative size.

        The library takes errors of its own at a file's beginning for another kind of file.
        """
        info = super().frombuf(buf, encoding, errors)
        if info.size < 0 or (info.type in READ_AT_ONCE and info.size > MOST_NAME):
            raise ValueError(f"a header says that {info.size} bytes belong to it")
        return info
