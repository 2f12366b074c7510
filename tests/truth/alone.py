"""Tests that take CPUs from others on purpose run one after another, also those of two runs."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def alone() -> Iterator[None]:
    """Be the only one that takes CPUs for the length of a block; wait for the others' ends.

    The lock is on the machine's folder for temporary files, so that no file is left behind.
    """
    folder = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
