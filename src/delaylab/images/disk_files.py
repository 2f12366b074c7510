"""Disk images of users: their format, and whether they are one file that names no other.

QEMU opens the files that an image names, such as its backing file, with the rights of QEMU's user,
and the guest reads them. The format is found here and told to QEMU, because QEMU would find any of
its formats in what the image's author wrote.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISBLK
from typing import Literal, NamedTuple

from delaylab.errors import BadInput
from delaylab.io.values import JsonObject

Format = Literal["raw", "qcow2"]

QCOW2 = b"QFI\xfb"
OTHERS = {
    b"KDMV": "VMDK",
    b"COWD": "VMDK",
    b"# Disk DescriptorFile": "VMDK",
    b"vhdxfile": "VHDX",
    b"conectix": "VPC",
    b"QED\0": "QED",
    b"WithoutFreeSpace": "Parallels",
    b"WithouFreSpacExt": "Parallels",
}
"""The first bytes of images in other formats of QEMU (docs/system/images.rst of QEMU)."""
VDI, VDI_AT = b"\x7f\x10\xda\xbe", 64
HEAD = 112
"""The length of the head that is read, in bytes: that of a qcow2 image of version 3, and more."""
DATA_FILE = 1 << 2
"""The incompatible feature of a qcow2 image whose data are in another file."""
CONVERT = "make it one file: qemu-img convert -O qcow2 {name} new.qcow2"


class QcowHead(NamedTuple):
    """The first fields of a qcow2 image (docs/interop/qcow2.rst of QEMU), big-endian."""

    version: int
    backing_file_at: int
    backing_file_length: int
    encryption: int
    incompatible: int

    @classmethod
    def read(cls, head: bytes) -> QcowHead:
        """Return the fields of a head; raise struct.error if it is cut."""
        version, backing_at, backing_length = struct.unpack_from(">IQI", head, 4)
        (encryption,) = struct.unpack_from(">I", head, 32)
        (incompatible,) = struct.unpack_from(">Q", head, 72) if version >= 3 else (0,)
        return cls(version, backing_at, backing_length, encryption, incompatible)


@dataclass(frozen=True)
class DiskFile:
    """A disk image that a guest may get: one file, or a block device, in a known format."""

    format: Format
    is_device: bool

    def drive(self, path: str) -> str:
        """Return the option `file=` of QEMU's `-drive` for this image at a path.

        No backing file is opened, whatever the image says by then.
        """
        source: JsonObject = {"driver": "host_device" if self.is_device else "file"}
        node: JsonObject = {"driver": self.format, "file": {**source, "filename": path}}
        alone: JsonObject = {"backing": None} if self.format == "qcow2" else {}
        return "file=json:" + json.dumps({**node, **alone}).replace(",", ",,")


def check(path: Path) -> DiskFile:
    """Return what a disk image is; raise BadInput if no guest may get it.

    Refused are images that name other files, encrypted ones, and formats other than raw and qcow2.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
            is_device = S_ISBLK(os.fstat(file.fileno()).st_mode)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", "image") from None
    if head.startswith(QCOW2):
        why = _why_not(head)
        if why is not None:
            raise BadInput(f"{path} {why}", "image", CONVERT.format(name=path.name))
        return DiskFile("qcow2", is_device)
    other = next((name for magic, name in OTHERS.items() if head.startswith(magic)), None)
    if other is None and head[VDI_AT:].startswith(VDI):
        other = "VDI"
    if other is not None:
        what = f"{path} is a {other} image; raw and qcow2 are known"
        raise BadInput(what, "image", CONVERT.format(name=path.name))
    return DiskFile("raw", is_device)


def _why_not(head: bytes) -> str | None:
    """Return why no guest may get a qcow2 image with this head; None if one may."""
    try:
        found = QcowHead.read(head)
    except struct.error:
        return "is cut off within the head of a qcow2 image"
    if found.version not in {2, 3}:
        return f"is a qcow2 image of version {found.version}; 2 and 3 are known"
    if found.backing_file_at or found.backing_file_length:
        return "has a backing file, which the guest would read"
    if found.incompatible & DATA_FILE:
        return "keeps its data in another file, which the guest would read"
    return "is encrypted, and no key can be given" if found.encryption else None
