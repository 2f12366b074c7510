"""Ownership of directories, checked before their content is trusted, run or removed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
ALL_USERS = ["0", "0", "4294967295"]
"""The map of user ids outside of user namespaces (user_namespaces(7))."""


def why_not_private(about: os.stat_result, *, or_roots: bool = False) -> str | None:
    """Return the reason why other users may change a directory, or None if they cannot.

    `about` is the directory's status. It must belong to this user, or to root if `or_roots` is set,
    and neither its group nor others may have write permission.
    """
    owners = {os.geteuid(), 0} if or_roots else {os.geteuid()}
    if about.st_uid not in owners:
        return f"it belongs to user {about.st_uid}"
    if about.st_mode & WRITABLE_BY_OTHERS:
        return f"other users can write to it (mode {stat.S_IMODE(about.st_mode):o})"
    return None


def why_not_lasting(path: Path) -> str | None:
    """Return the reason why another user may put another directory in a path's place, or None.

    Whoever may rename an entry of a directory above it can, and so can the owner of a symbolic link
    on the way. Directories that do not exist yet are left out.
    """
    owners = _trusted_owners()
    given = path.absolute()
    for place in (*given.parents, given):
        with suppress(OSError):
            about = place.lstat()
            if stat.S_ISLNK(about.st_mode) and about.st_uid not in owners:
                return f"{place} is a symbolic link of user {about.st_uid}"
    for place in {*given.parents, *Path(os.path.realpath(given)).parents}:
        with suppress(OSError):
            about = place.stat()
            if about.st_uid not in owners:
                return f"{place} above it belongs to user {about.st_uid}"
            if about.st_mode & WRITABLE_BY_OTHERS and not about.st_mode & stat.S_ISVTX:
                mode = f"mode {stat.S_IMODE(about.st_mode):o}"
                return f"other users can rename what is in {place} ({mode})"
    return None


def _trusted_owners() -> set[int]:
    """Return this user and root; in a user namespace, root may be the user of unmapped files."""
    owners = {os.geteuid(), 0}
    with suppress(OSError, ValueError):
        if Path("/proc/self/uid_map").read_text().split() != ALL_USERS:
            owners.add(int(Path("/proc/sys/kernel/overflowuid").read_text()))
    return owners
