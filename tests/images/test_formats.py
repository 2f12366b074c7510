"""Kernel images and archives, each against something that others made."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable

import lz4.block
import pytest
import zstandard

from delaylab.images import bzimage

# More than two LZ4 blocks. Long runs of one byte take bzip2 little time, short patterns 5 s.
KERNEL = b"\x7fELF" + b"".join(bytes([value]) * 66_000 for value in range(256))


def lz4_legacy(data: bytes) -> bytes:
    """As `lz4 -l` writes it."""
    blocks = [data[at : at + (8 << 20)] for at in range(0, len(data), 8 << 20)]
    packed = [lz4.block.compress(block, store_size=False) for block in blocks]
    return b"\x02\x21\x4c\x18" + b"".join(struct.pack("<I", len(p)) + p for p in packed)


def zstd(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(data) + packer.flush()


def image(payload: bytes, size: int = len(KERNEL), setup_sectors: int = 3) -> bytes:
    """A bzImage by the kernel's boot protocol 2.15."""
    head = bytearray((setup_sectors + 1) * 512)
    head[0x1F1] = setup_sectors
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x206, 0x20F)
    struct.pack_into("<II", head, 0x248, 16, len(payload) + 4)
    return bytes(head) + b"decompressor-..." + payload + struct.pack("<I", size) + b"tail"


@pytest.mark.parametrize(
    "compress",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
        zstd,
        lz4_legacy,
    ],
    ids=["gzip", "bzip2", "xz", "lzma", "zstd", "lz4"],
)
def test_the_kernel_comes_out_of_every_compression(compress: Callable[[bytes], bytes]) -> None:
    assert bzimage.vmlinux(image(compress(KERNEL))) == KERNEL


@pytest.mark.parametrize(
    ("damaged", "complaint"),
    [
        (b"MZ" + bytes(2000), "no boot header"),
        (image(b"\x00unknown"), "unknown way"),
        (image(gzip.compress(KERNEL), size=5), "its header says 5"),
        (image(b"\xfd7zXZ\0" + bytes(100)), "damaged"),
        (image(lz4_legacy(KERNEL)[:100]), "damaged"),
    ],
)
def test_a_damaged_image_is_told(damaged: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        bzimage.vmlinux(damaged)
