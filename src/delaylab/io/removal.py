"""Removal of a folder with all that is below it, however deep."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from delaylab.io.descriptors import FOLDER

_MOVED = ".delaylab-removed-"
"""The prefix of the names that folders get before they are emptied."""
_NAME_IN_USE = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


def remove_tree(path: Path) -> None:
    """Remove a folder with all that is below it; follow no link.

    A folder that is not empty is moved up to the top before it is emptied. So the depth does not
    matter, where `shutil.rmtree` opens and calls once more for each level. Raises OSError.
    """
    top = os.open(path, FOLDER)
    numbers = count()
    try:
        while names := os.listdir(top):  # noqa: PTH208  no path leads there for certain
            for name in names:
                if not _removed(top, name):
                    _empty(top, name, numbers)
    finally:
        os.close(top)
    path.rmdir()


def _removed(inside: int, name: str) -> bool:
    """Remove a file or an empty folder; return False for a folder that is not empty."""
    try:
        os.unlink(name, dir_fd=inside)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        pass
    else:
        return True
    try:
        os.rmdir(name, dir_fd=inside)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _empty(top: int, name: str, numbers: Iterator[int]) -> None:
    """Remove a folder of the top; what is in it is removed, or moved to the top if not empty."""
    inner = os.open(name, FOLDER, dir_fd=top)
    try:
        for entry in os.listdir(inner):  # noqa: PTH208
            if not _removed(inner, entry):
                _move_up(inner, entry, top, numbers)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def _move_up(inside: int, name: str, top: int, numbers: Iterator[int]) -> None:
    """Move a folder to the top; no number is tried twice, or wide trees took quadratic time."""
    for number in numbers:
        try:
            os.rename(name, f"{_MOVED}{number}", src_dir_fd=inside, dst_dir_fd=top)
        except OSError as error:
            if error.errno not in _NAME_IN_USE:
                raise
        else:
            return
