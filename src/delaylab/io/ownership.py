"""Ownership of directories, checked before their content is trusted, run or removed."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
MOST_LINKS = 40
"""The symbolic links that Linux follows in a path (path_resolution(7))."""
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

    Whoever may rename an entry of a directory on the way can, and so can the owner of a symbolic
    link. The way is checked from the root on: what is below a trusted directory stays in its place
    while the rest is checked.

    Raises FileNotFoundError at the first entry that does not exist, if all above it is trusted, and
    OSError if the way cannot be followed.
    """
    owners = _trusted_owners()
    place, links = Path("/"), 0
    rest = [*reversed(path.absolute().parts[1:])]
    while rest:
        if (why := _why_entries_may_move(place, owners)) is not None:
            return why
        entry = place / rest.pop()
        if entry.name == "..":
            place = place.parent  # no symbolic link is left in it
            continue
        about = entry.lstat()
        if not stat.S_ISLNK(about.st_mode):
            place = entry
            continue
        if about.st_uid not in owners:
            return f"{entry} is a symbolic link of user {about.st_uid}"
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = entry.readlink()
        if target.is_absolute():
            place = Path("/")
        rest += [part for part in reversed(target.parts) if part != "/"]
    return None


def _why_entries_may_move(place: Path, owners: set[int]) -> str | None:
    """Return the reason why other users may rename the entries of a directory, or None."""
    about = place.stat()
    if about.st_uid not in owners:
        return f"{place} above it belongs to user {about.st_uid}"
    others = about.st_mode & WRITABLE_BY_OTHERS
    if others == stat.S_IWGRP and _is_of_one_user(about.st_gid):
        return None
    if others and not about.st_mode & stat.S_ISVTX:
        mode = f"mode {stat.S_IMODE(about.st_mode):o}"
        return f"other users can rename what is in {place} ({mode})"
    return None


def _is_of_one_user(gid: int) -> bool:
    """Return True for the group that a distribution makes for this user alone.

    With such groups, folders that their user makes are often writable by the group (umask 002).
    """
    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    named = group.gr_name == user.pw_name and user.pw_gid == gid
    return named and {*group.gr_mem} <= {user.pw_name}


def _trusted_owners() -> set[int]:
    """Return this user and root; in a user namespace, root may be the user of unmapped files."""
    owners = {os.geteuid(), 0}
    with suppress(OSError, ValueError):
        if Path("/proc/self/uid_map").read_text().split() != ALL_USERS:
            owners.add(int(Path("/proc/sys/kernel/overflowuid").read_text()))
    return owners
