"""A small writer of qcow2 images (docs/interop/qcow2.rst of QEMU), as strangers may make them."""

from __future__ import annotations

import struct
from pathlib import Path

CLUSTER = 65536
L1_AT, L2_AT, REFERENCES_AT, DATA_AT = (CLUSTER * number for number in range(1, 5))
COPIED = 1 << 63
DATA_FILE = 0x44415441
"""The type of the header extension that names the file with an image's data."""
V2, V3 = 72, 104
"""The length of the head by version."""


def write(
    path: Path, data: bytes, *, backing: str = "", data_file: str = "", version: int = 3
) -> Path:
    """Write an image with these data, at most 512 MiB; return its path.

    Clusters without data are those of the `backing` file, or zeros. With `data_file` that file has
    the data.
    """
    clusters = [data[at : at + CLUSTER] for at in range(0, len(data), CLUSTER)]
    used = [number for number, cluster in enumerate(clusters) if any(cluster)]
    extensions = bytes(8)
    if data_file:
        name = data_file.encode()
        padded = name.ljust(-(-len(name) // 8) * 8, b"\0")
        extensions = struct.pack(">II", DATA_FILE, len(name)) + padded + extensions
    length = V3 if version == 3 else V2
    backing_at = length + len(extensions) if backing else 0
    head = struct.pack(">4sIQII", b"QFI\xfb", version, backing_at, len(backing), 16)
    head += struct.pack(">QIIQ", max(len(data), CLUSTER), 0, 1, L1_AT)
    head += struct.pack(">QIIQ", REFERENCES_AT, 1, 0, 0)
    if version == 3:
        head += struct.pack(">QQQII", 4 if data_file else 0, 0, 0, 4, V3)
    entries = [0] * len(clusters)
    for place, number in enumerate(used):
        entries[number] = COPIED | (CLUSTER * number if data_file else DATA_AT + CLUSTER * place)
    with path.open("wb") as file:
        file.write(head + extensions + backing.encode())
        for at, part in (
            (L1_AT, struct.pack(">Q", L2_AT | COPIED)),
            (L2_AT, struct.pack(f">{len(entries)}Q", *entries)),
            (DATA_AT, b"".join(clusters[number].ljust(CLUSTER, b"\0") for number in used)),
        ):
            file.seek(at)
            file.write(part)
    return path
