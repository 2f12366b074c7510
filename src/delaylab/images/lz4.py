"""Decoder of LZ4's legacy frame, the only LZ4 format that kernel images use.

The frame is a magic number, then blocks of at most 8 MiB (decompressed), each after its length
(github.com/lz4/lz4, doc/lz4_Frame_format.md, "Legacy frame").
"""

from __future__ import annotations

import struct

import lz4.block

MAGIC = b"\x02\x21\x4c\x18"
BLOCK = 8 << 20
LENGTH = struct.Struct("<I")


def decompress(data: bytes, size: int) -> bytes:
    """Return a frame's content of `size` bytes, which the frame does not state.

    Raises ValueError if it is damaged.
    """
    parts = []
    position = len(MAGIC)
    for begin in range(0, size, BLOCK):
        try:
            (length,) = LENGTH.unpack_from(data, position)
            block = data[position + LENGTH.size : position + LENGTH.size + length]
            parts.append(lz4.block.decompress(block, min(BLOCK, size - begin)))
        except (struct.error, lz4.block.LZ4BlockError) as error:
            raise ValueError(f"damaged after {begin} bytes: {error}") from None
        position += LENGTH.size + length
    return b"".join(parts)
