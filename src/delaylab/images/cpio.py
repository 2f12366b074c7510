"""Writer of archives in cpio's `newc` format, which Linux unpacks as its initramfs.

The kernel's Documentation/driver-api/early-userspace/buffer-format.rst describes the format. All
members belong to root, whoever writes them; times are 0, so that equal files give equal bytes.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

MAGIC = b"070701"
TRAILER = "TRAILER!!!"
BLOCK = 512
WORD = 4


class Writer:
    """A writer of members in the order in which they are added; inode numbers count up."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._inode = 0
        self._length = 0

    def folder(self, name: str, mode: int = 0o755) -> None:
        """Add a folder; those above it must have been added."""
        self._member(name, stat.S_IFDIR | mode)

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Add a regular file."""
        self._member(name, stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._member(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name: str, major: int, minor: int, mode: int = 0o600) -> None:
        """Add a character device."""
        self._member(name, stat.S_IFCHR | mode, device=(major, minor))

    def close(self) -> None:
        """End the archive; another may follow."""
        self._member(TRAILER, 0)
        self._pad(BLOCK)

    def _member(
        self, name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)
    ) -> None:
        self._inode += mode != 0
        inode = self._inode if mode else 0
        encoded = name.encode() + b"\0"
        links, owner, time, checksum = 1, 0, 0, 0
        about = (inode, mode, owner, owner, links, time, len(content), 0, 0)
        fields = (*about, *device, len(encoded), checksum)
        self._write(MAGIC + b"".join(b"%08x" % field for field in fields) + encoded)
        self._pad(WORD)
        self._write(content)
        self._pad(WORD)

    def _write(self, content: bytes) -> None:
        self._out.write(content)
        self._length += len(content)

    def _pad(self, unit: int) -> None:
        self._write(bytes(-self._length % unit))


def write_tree(
    path: Path, root: Path, devices: Mapping[str, tuple[int, int]] | None = None
) -> None:
    """Archive a folder's files, folders and links, and devices by name (major, minor)."""
    with path.open("wb") as out:
        archive = Writer(out)
        for found in sorted(root.rglob("*")):
            name, mode = str(found.relative_to(root)), found.lstat().st_mode
            if stat.S_ISLNK(mode):
                archive.link(name, str(found.readlink()))
            elif stat.S_ISDIR(mode):
                archive.folder(name, stat.S_IMODE(mode))
            else:
                archive.file(name, found.read_bytes(), stat.S_IMODE(mode))
        for name, (major, minor) in (devices or {}).items():
            archive.device(name, major, minor)
        archive.close()
