"""Headers of tar archives: those from strangers have little read at once; fields of GNU tar."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from typing import Any, Self

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
    """A header whose size is checked before the library reads that much into memory.

    The check is where the library stores the fields: which of its methods reads a header differs
    between versions (Debian's Python 3.11.2-6+deb12u9 no longer calls `frombuf` itself).
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return a header from its bytes."""
        info = super().frombuf(buf, encoding, errors)
        info.read_from(buf)
        return info

    @classmethod
    def _frombuf(cls, buf: bytes | bytearray, *args: Any, **more: Any) -> Self:
        """Return a header from its bytes: what newer versions of the library call."""
        info: Self = super()._frombuf(buf, *args, **more)  # type: ignore[misc]
        info.read_from(buf)
        return info

    def read_from(self, header: bytes | bytearray) -> None:
        """Take from a header's bytes what the library does not; raise ValueError if it is unfit."""

    @property
    def size(self) -> int:
        """Return the number of bytes that follow the header."""
        found: int = _SIZE.__get__(self, BoundedHeader)
        return found

    @size.setter
    def size(self, value: int) -> None:
        _SIZE.__set__(self, value)
        _check(self)

    @property
    def type(self) -> bytes:
        """Return the type of the entry, one byte."""
        found: bytes = _TYPE.__get__(self, BoundedHeader)
        return found

    @type.setter
    def type(self, value: bytes) -> None:
        _TYPE.__set__(self, value)
        _check(self)


_SIZE, _TYPE = vars(tarfile.TarInfo)["size"], vars(tarfile.TarInfo)["type"]
"""Places in which the library's class keeps both fields (`__slots__`)."""


def _check(header: BoundedHeader) -> None:
    """Raise ValueError if a header is too large or has a negative size.

    The library takes errors of its own at a file's beginning for another kind of file.
    """
    size, kind = getattr(header, "size", 0), getattr(header, "type", b"")
    if size < 0 or (kind in READ_AT_ONCE and size > MOST_NAME):
        raise ValueError(f"a header says that {size} bytes belong to it")


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
