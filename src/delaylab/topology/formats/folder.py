"""Files of nodes: the texts below a topology's folder, and no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

from delaylab.errors import BadInput
from delaylab.io.files import read_bytes
from delaylab.spec.programs import MOST_TEXT

MOST_FILES = 200
"""The most files of one folder."""
LONGEST_PATH = 4096
NO_FILE = "no readable file below the topology's folder"
EMPTY = "the folder has no files"
NO_PATH = "a node has no file of that path"
NO_TEXT = "not text"
TOO_MUCH = f"files of a topology have at most {MOST_TEXT >> 20} MiB in all"
TOO_MANY = f"the folder has more than {MOST_FILES} files"

Files = dict[str, dict[str, str]]


class Folder:
    """The folder of a topology. A stranger's topology names no files outside of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._room = MOST_TEXT

    def bound(self, source: str, target: str) -> tuple[Files, str]:
        """Return the files that a bind puts into a node, and why not all of them."""
        to = PurePosixPath(target)
        if not source or not to.is_absolute() or ".." in to.parts:
            return {}, NO_FILE
        path = self._path / source
        if not self._has(path):
            return {}, NO_FILE
        if not path.is_dir():
            return self._files([(path, to)])
        found = list(islice(_below(path), MOST_FILES + 1))
        if not found:
            return {}, EMPTY
        if len(found) > MOST_FILES:
            return {}, TOO_MANY
        return self._files([(each, to / each.relative_to(path)) for each in found])

    def has(self, source: str) -> bool:
        """Return True if a folder of this name is below the topology's folder."""
        return (self._path / source).is_dir() and self._has(self._path / source)

    def _has(self, path: Path) -> bool:
        try:
            return path.resolve(strict=True).is_relative_to(self._path.resolve())
        except (OSError, ValueError, RuntimeError):  # a link to itself is a RuntimeError
            return False

    def _files(self, pairs: list[tuple[Path, PurePosixPath]]) -> tuple[Files, str]:
        files: Files = {}
        why = ""
        for path, to in pairs:
            try:
                files[str(to)] = self._file(path, to)
            except ValueError as error:
                why = str(error)
        return files, why

    def _file(self, path: Path, to: PurePosixPath) -> dict[str, str]:
        """Return a file of a lab; raise ValueError with the reason if it is none."""
        if not _is_path(to):
            raise ValueError(NO_PATH)
        if not self._has(path):
            raise ValueError(NO_FILE)
        try:
            about = path.stat()
            if about.st_size > MOST_TEXT:
                raise ValueError(TOO_MUCH)
            text = read_bytes(path, MOST_TEXT).decode()
        except UnicodeDecodeError:
            raise ValueError(NO_TEXT) from None
        except (OSError, BadInput):
            raise ValueError(NO_FILE) from None
        if "\0" in text:
            raise ValueError(NO_TEXT)
        if len(text) > self._room:
            raise ValueError(TOO_MUCH)
        self._room -= len(text)
        runs = about.st_mode & stat.S_IXUSR
        return {"content": text, "mode": "755"} if runs else {"content": text}


def is_beside(path: Path) -> bool:
    """Return True for a file that is in its folder, or below it, and no link out of it."""
    try:
        return path.is_file() and path.resolve().is_relative_to(path.parent.resolve())
    except (OSError, ValueError, RuntimeError):  # a link to itself is a RuntimeError
        return False


def _below(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(at) / name for name in sorted(names))


def _is_path(to: PurePosixPath) -> bool:
    """Return True for a path that a lab file can have."""
    try:
        return to.name != "" and len(str(to).encode()) <= LONGEST_PATH
    except UnicodeEncodeError:
        return False
