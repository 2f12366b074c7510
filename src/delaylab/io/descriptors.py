"""Folders that are opened by descriptors, so that no link leads anywhere else."""

from __future__ import annotations

import os
from collections.abc import Sequence

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags that open a folder and fail for a link in its place."""


def opened_below(top: int, parts: Sequence[str]) -> int:
    """Return a new descriptor of a folder below an open one, by names of which none is a link.

    The caller closes it. Raises OSError: ENOTDIR or ELOOP where a name is a link or a file.
    """
    opened = os.open(".", FOLDER, dir_fd=top)
    for part in parts:
        try:
            deeper = os.open(part, FOLDER, dir_fd=opened)
        finally:
            os.close(opened)
        opened = deeper
    return opened
