"""Extraction of the kernel from a bzImage, the compressed form that distributions ship for x86.

The kernel's place is in the header, which the kernel's Documentation/arch/x86/boot.rst describes.
Without hardware virtualisation a guest boots seconds faster if it need not decompress itself.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable

import lz4.block
import zstandard

HEADER = 0x202
HEADER_MAGIC = b"HdrS"
FIRST_WITH_PAYLOAD = 0x208
SETUP_SECTORS = 0x1F1
PAYLOAD = 0x248
SECTOR = 512
SIZE = struct.Struct("<I")
"""The decompressed size, in the payload's last bytes; the length of a block of LZ4."""
LZ4_MAGIC = b"\x02\x21\x4c\x18"
LZ4_BLOCK = 8 << 20
"""The most bytes of a block of LZ4, decompressed."""


DECOMPRESSORS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": lambda data: zlib.decompressobj(wbits=31).decompress(data),
    b"\xfd7zXZ\0": lambda data: lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(data),
    b"\x5d\0\0": lambda data: lzma.LZMADecompressor(lzma.FORMAT_ALONE).decompress(data),
    b"BZh": lambda data: bz2.BZ2Decompressor().decompress(data),
    # A frame need not state its decompressed size, so the streaming decompressor is used.
    b"\x28\xb5\x2f\xfd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


def decompress(data: bytes) -> bytes:
    """Decompress data by its magic number; raise ValueError if it is unknown or damaged."""
    for magic, function in DECOMPRESSORS.items():
        if data.startswith(magic):
            try:
                return function(data)
            except (lzma.LZMAError, zlib.error, zstandard.ZstdError, OSError) as error:
                raise ValueError(f"damaged: {error}") from None
    raise ValueError(f"compressed in an unknown way: it begins with {data[:6].hex()}")


def vmlinux(image: bytes) -> bytes:
    """Return the uncompressed kernel, an ELF file.

    Raises ValueError if the image is not a bzImage, has no kernel in a known place, or is damaged.
    """
    if image[HEADER : HEADER + 4] != HEADER_MAGIC:
        raise ValueError("not a bzImage: it has no boot header")
    (version,) = struct.unpack_from("<H", image, HEADER + 4)
    if version < FIRST_WITH_PAYLOAD:
        raise ValueError(f"its boot protocol {version:#x} does not say where the kernel is")
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    # 0 sectors mean 4, from the days of floppy disks; one more is the boot sector.
    begin = ((image[SETUP_SECTORS] or 4) + 1) * SECTOR + offset
    payload = image[begin : begin + length - SIZE.size]
    (size,) = SIZE.unpack_from(image, begin + length - SIZE.size)
    if payload.startswith(LZ4_MAGIC):
        return _decompress_lz4(payload, size)
    kernel = decompress(payload)
    if len(kernel) != size:
        raise ValueError(f"its kernel has {len(kernel)} bytes, its header says {size}")
    return kernel


def _decompress_lz4(data: bytes, size: int) -> bytes:
    """Return the `size` bytes of a frame in LZ4's legacy format; raise ValueError if it is damaged.

    The frame does not state the size. It is a magic number, then blocks, each after its length
    (github.com/lz4/lz4, doc/lz4_Frame_format.md, "Legacy frame").
    """
    parts = []
    position = len(LZ4_MAGIC)
    for begin in range(0, size, LZ4_BLOCK):
        try:
            (length,) = SIZE.unpack_from(data, position)
            block = data[position + SIZE.size : position + SIZE.size + length]
            parts.append(lz4.block.decompress(block, min(LZ4_BLOCK, size - begin)))
        except (struct.error, lz4.block.LZ4BlockError) as error:
            raise ValueError(f"damaged after {begin} bytes: {error}") from None
        position += SIZE.size + length
    return b"".join(parts)
