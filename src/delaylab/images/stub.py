"""Stub for a shared library that a program names but never uses: its functions return 0.

It is the least that glibc's loader accepts: one segment with the dynamic table, the symbols, and
three bytes of code that all symbols point to (System V ABI, chapter 5, and its AMD64 supplement).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

RETURN_0 = b"\x31\xc0\xc3"  # xor eax, eax; ret
SHARED, AMD64, VERSION = 3, 62, 1
PT_LOAD, PT_DYNAMIC = 1, 2
READ, EXECUTE = 4, 1
GLOBAL_FUNCTION = 0x12
ANY_SECTION = 1
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_SONAME, DT_NULL = 4, 5, 6, 10, 11, 14, 0
HEADER, SEGMENT, SYMBOL, ENTRY = 64, 56, 24, 16
PAGE = 4096


def library(name: str, functions: Sequence[str]) -> bytes:
    """Return the stub's content; `name` is the library's name in programs, such as `libx.so.1`."""
    strings = b"\0" + b"\0".join(text.encode() for text in (name, *functions)) + b"\0"
    offsets = {text: strings.index(b"\0" + text.encode() + b"\0") + 1 for text in functions}
    count = len(functions) + 1  # the first symbol is empty
    # One bucket, which chains all symbols.
    chain = [0, *range(2, count), 0]
    hashes = struct.pack(f"<{4 + len(chain) - 1}I", 1, count, 1, *chain)
    at_code = HEADER + 2 * SEGMENT
    at_dynamic = _align(at_code + len(RETURN_0))
    at_symbols = at_dynamic + 7 * ENTRY
    at_hashes = at_symbols + count * SYMBOL
    at_strings = at_hashes + len(hashes)
    size = at_strings + len(strings)
    symbols = bytes(SYMBOL) + b"".join(
        struct.pack("<IBBHQQ", offset, GLOBAL_FUNCTION, 0, ANY_SECTION, at_code, len(RETURN_0))
        for offset in offsets.values()
    )
    dynamic = struct.pack(
        "<14Q", DT_HASH, at_hashes, DT_STRTAB, at_strings, DT_SYMTAB, at_symbols,
        DT_STRSZ, len(strings), DT_SYMENT, SYMBOL, DT_SONAME, 1, DT_NULL, 0,
    )  # fmt: skip
    identity = b"\x7fELF" + bytes([2, 1, VERSION]) + bytes(9)
    header = identity + struct.pack(
        "<HHIQQQIHHHHHH", SHARED, AMD64, VERSION, 0, HEADER, 0, 0, HEADER, SEGMENT, 2, 0, 0, 0
    )
    load = _segment(PT_LOAD, READ | EXECUTE, 0, size, PAGE)
    table = _segment(PT_DYNAMIC, READ, at_dynamic, len(dynamic), 8)
    code = RETURN_0.ljust(at_dynamic - at_code, b"\0")
    return header + load + table + code + dynamic + symbols + hashes + strings


def _segment(kind: int, flags: int, offset: int, size: int, alignment: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, size, size, alignment)


def _align(offset: int, to: int = 8) -> int:
    return -(-offset // to) * to
