"""Trees of packages' files: made of what was unpacked, and laid over another tree."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from delaylab.images import apt

DROPPED = ("share/man", "share/info", "share/locale", "share/lintian", "share/bug", "share/doc")
"""Folders that no program needs."""
EXAMPLES = "examples"
"""The folder of a package's documentation that is kept: programs are tried with its files."""
MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
"""Names at the top that a package may have as links, where all is in /usr."""


def move(unpacked: Path, root: Path) -> None:
    """Move the files of packages into a new tree, in which /usr is / itself."""
    root.mkdir()
    for folder, folders, files in os.walk(unpacked):
        here = PurePosixPath(folder).relative_to(unpacked)
        if str(here) == ".":
            folders[:] = [name for name in folders if name != apt.CONTROL]
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links]
        for name in [*links, *files]:
            place = _place(here / name)
            if str(here / name) not in MERGED and not _is_dropped(place):
                target = root / place
                target.parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / name).rename(target)
        if not _is_dropped(_place(here)):
            target = root / _place(here)
            target.mkdir(parents=True, exist_ok=True)
            target.chmod(Path(folder).stat().st_mode & 0o7777)


def lay_over(source: Path, root: Path) -> None:
    """Link all files of a tree into another one, in place of those that are there."""
    for folder, folders, files in os.walk(source):
        here = root / Path(folder).relative_to(source)
        here.mkdir(exist_ok=True)
        here.chmod(Path(folder).stat().st_mode & 0o7777)
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in [*links, *files]:
            target = here / name
            if target.is_dir() and not target.is_symlink():
                continue  # a folder of the tree stays one, also if it is a link in the packages
            target.unlink(missing_ok=True)
            link(Path(folder) / name, target)


def link(source: str | Path, target: str | Path) -> None:
    """Make a file of a layer a file of another one: no copy, where the file system has links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _place(path: PurePosixPath) -> str:
    return str(path).removeprefix("usr/") if str(path) != "usr" else "."


def _is_dropped(place: str) -> bool:
    parts = place.split("/")
    # share/doc/PACKAGE/examples/…
    if parts[:2] == ["share", "doc"] and parts[3:4] == [EXAMPLES]:
        return False
    return "/".join(parts[:2]) in DROPPED
