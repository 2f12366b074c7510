"""Files of a node, `binds`: the texts below the topology's folder, and no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from delaylab.errors import BadInput
from delaylab.io.files import read_bytes
from delaylab.spec.programs import MOST_TEXT

MOST_FILES = 200
"""The most files of one folder."""
LONGEST_PATH = 4096
NO_FILE = "no file below the topology's folder"
NO_TEXT = "not text"
TOO_MUCH = f"files of a topology have at most {MOST_TEXT >> 20} MiB in all"
TOO_MANY = f"the folder has more than {MOST_FILES} files"

Files = dict[str, object]


class Folder:
    """The folder of a topology. A stranger's topology names no files outside of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._room = MOST_TEXT

    def bound(self, source: str, target: str) -> tuple[Files, str]:
        """Return the files that a bind puts into a node, and why not all of them."""
        to = PurePosixPath(target)
        if not source or not to.is_absolute() or ".." in to.parts or len(target) > LONGEST_PATH:
            return {}, NO_FILE
        try:
            path = self._path / source
            if not self._has(path):
                return {}, NO_FILE
            if path.is_dir():
                return self._all_of(path, to)
            return self._files([(path, to)])
        except (OSError, ValueError):
            return {}, NO_FILE

    def _has(self, path: Path) -> bool:
        return path.resolve(strict=True).is_relative_to(self._path.resolve())

    def _all_of(self, folder: Path, to: PurePosixPath) -> tuple[Files, str]:
        found = []
        for path in _below(folder):
            found.append((path, to / path.relative_to(folder)))
            if len(found) > MOST_FILES:
                return {}, TOO_MANY
        return self._files(found)

    def _files(self, found: list[tuple[Path, PurePosixPath]]) -> tuple[Files, str]:
        files: Files = {}
        lost = ""
        for path, to in found:
            try:
                text = _text(path) if self._has(path) else None
            except (OSError, BadInput):
                lost = NO_FILE
                continue
            if text is None or len(text) > self._room:
                lost = NO_TEXT if text is None else TOO_MUCH
                continue
            self._room -= len(text)
            runs = path.stat().st_mode & stat.S_IXUSR
            files[str(to)] = {"content": text, "mode": "755"} if runs else {"content": text}
        return files, lost


def _below(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(at) / name for name in sorted(names))


def _text(path: Path) -> str | None:
    """Return the text of a file; None if it is not text."""
    try:
        text = read_bytes(path, MOST_TEXT).decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
