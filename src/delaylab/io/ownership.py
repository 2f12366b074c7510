"""Ownership of directories, checked before their content is trusted, run or removed."""

from __future__ import annotations

import os
import stat

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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
