"""Whose a directory is: checked before anything in it is believed, run or removed."""

from __future__ import annotations

import os
import stat

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def why_not_private(about: os.stat_result, *, or_roots: bool = False) -> str | None:
    """Return None for a directory of this user that no other user can write to; else why it is not.

    `or_roots`: one of root's is as good.
    """
    owners = {os.geteuid(), 0} if or_roots else {os.geteuid()}
    if about.st_uid not in owners:
        return f"it belongs to user {about.st_uid}"
    if about.st_mode & WRITABLE_BY_OTHERS:
        return f"other users can write to it (mode {stat.S_IMODE(about.st_mode):o})"
    return None
