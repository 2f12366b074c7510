"""Disks with an ext4 file system, made by mke2fs (e2fsprogs). Root is not needed."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from delaylab.errors import NotHere

FREE_BYTES = 256 << 20
"""The room that a disk made of a tree has for what a guest writes. It is sparse until then."""
BLOCK = 4096
SPARE_INODES = 4096
INODE_BYTES = 256
LIMIT_S = 600
"""The time that mke2fs has, which copies a whole tree to a disk."""
AS_ROOT = ("unshare", "--user", "--map-root-user")
"""A prefix by which files of an ordinary user belong to root on the disk."""


def make_empty(disk: Path, size_bytes: int) -> None:
    """Write a disk without files; it takes hardly any room until it is written to."""
    _make(disk, size_bytes, ["-E", "lazy_itable_init=0,nodiscard"])


def make_of(disk: Path, root: Path) -> None:
    """Write a disk with the files of a tree, owned by root. It is never written back to.

    It has no journal: a guest that ends loses all that it wrote anyway.
    """
    sizes = [_blocks_bytes(path.lstat()) for path in root.rglob("*")]
    inodes = len(sizes) + SPARE_INODES
    size_bytes = sum(sizes) * 21 // 20 + inodes * INODE_BYTES + FREE_BYTES
    options = ["-O", "^has_journal,^resize_inode", "-m", "0", "-b", str(BLOCK), "-N", str(inodes)]
    options += ["-E", "lazy_itable_init=0,nodiscard", "-d", str(root)]
    _make(disk, size_bytes, options)


def _blocks_bytes(about: os.stat_result) -> int:
    whole = about.st_size if stat.S_ISREG(about.st_mode) else 1
    return -(-whole // BLOCK) * BLOCK


def _make(disk: Path, size_bytes: int, options: Sequence[str]) -> None:
    """Raise NotHere if mke2fs is missing, fails or does not end."""
    with disk.open("wb") as file:
        file.truncate(-(-size_bytes // BLOCK) * BLOCK)
    argv = ["mke2fs", "-q", "-t", "ext4", "-F", *options, str(disk)]
    prefix = () if os.geteuid() == 0 else AS_ROOT
    try:
        subprocess.run(
            [*prefix, *argv],
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
        )
    except FileNotFoundError:
        raise NotHere("mke2fs is not installed", fix="apt-get install e2fsprogs") from None
    except subprocess.TimeoutExpired:
        what = f"mke2fs did not end within {LIMIT_S} s, and was killed"
        raise NotHere(what, fix="is the disk full, or very slow?") from None
    except subprocess.CalledProcessError as error:
        raise NotHere(f"mke2fs failed: {error.stderr.decode(errors='replace').strip()}") from None
