"""Headers of tar archives: those from strangers have little read at once; fields of GNU tar."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from typing import Self

MOST_NAME = 1 << 20
"""Largest number of bytes of a header that holds a long name or other values of the next one."""
BLOCK = 512
OFFSET = slice(369, 381)
"""The field of a header that has the offset of a piece in its file (tar(5), "GNU tar archives")."""
SUM = slice(148, 156)
"""The field that has the sum of the header's bytes, for which it counts as spaces."""
WIDTH, BINARY = 12, b"\x80"
"""The width of a field with a number, and its first byte if it is not octal."""
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


def binary(value: int) -> bytes:
    """Return a number as a field of GNU tar has it that is not octal."""
    return BINARY + value.to_bytes(WIDTH - 1, "big")


def offset(header: bytes | bytearray) -> int:
    """Return the offset of a piece in its file; raise ValueError if it is malformed."""
    field = bytes(header[OFFSET])
    if field[:1] != BINARY:
        raise ValueError("a piece has no offset")
    return int.from_bytes(field[1:], "big")


def number(value: int) -> bytes:
    """Return a number as a field of GNU tar: octal, or binary if it is too large for that."""
    return b"%011o\0" % value if value < 8**11 else binary(value)


def with_fields(made: bytes, fields: Iterable[tuple[slice, bytes]]) -> bytes:
    """Return a header, with what stands before it, with other values in some of its fields."""
    header = bytearray(made[-BLOCK:])
    for place, value in fields:
        header[place] = value.ljust(place.stop - place.start, b"\0")
    header[SUM] = b" " * 8
    header[SUM] = b"%06o\0 " % sum(header)
    return made[:-BLOCK] + bytes(header)
