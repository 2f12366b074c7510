"""Places in a user's root file system, found as a program in it would find them.

LXC creates its mount points from outside of the container. There a link `/etc -> /srv` leads to
`/srv` of this machine. So LXC is given paths without links.
"""

from __future__ import annotations

from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from delaylab.errors import BadInput

MOST_LINKS = 40
"""The links that a path may have, as in the kernel (path_resolution(7))."""
PLAIN = ("dev", "proc", "sys")
"""The folders for which LXC takes no links."""


def check(root: Path) -> None:
    """Raise BadInput if LXC could not start a root file system."""
    if {":", ","} & set(str(root)):
        raise BadInput(f"{root} has a colon or a comma in its path", "image", "give it another")
    for name in PLAIN:
        place_in(root, name, is_folder=True)


def place_in(root: Path, path: str, *, is_folder: bool) -> str:
    """Return the path without links of a place in a root file system, relative to it.

    The place need not exist. Raises BadInput if it cannot be the folder or file that is wanted.
    """
    found, waiting, links = list[str](), path.split("/")[::-1], 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            del found[-1:]
        if part in {"", ".", ".."}:
            continue
        target = _link(root, [*found, part])
        if target is None:
            found.append(part)
            continue
        links += 1
        if links > MOST_LINKS or path in PLAIN:
            what = "is a link" if path in PLAIN else f"leads over more than {MOST_LINKS} links"
            raise BadInput(f"/{path} in {root} {what}", "image")
        if target.startswith("/"):
            found.clear()
        waiting += target.split("/")[::-1]
    _check(root, path, found, is_folder=is_folder)
    return "/".join(found)


def _link(root: Path, parts: list[str]) -> str | None:
    place = root.joinpath(*parts)
    try:
        return str(place.readlink()) if S_ISLNK(place.lstat().st_mode) else None
    except OSError:  # what is there, if anything, is checked at the end
        return None


def _check(root: Path, path: str, names: list[str], *, is_folder: bool) -> None:
    """Raise BadInput unless all on the way are folders, and the last is of the wanted type."""
    for length in range(1, len(names) + 1):
        place = root.joinpath(*names[:length])
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise BadInput(f"{place} cannot be read: {error.strerror}", "image") from None
        wants_folder = length < len(names) or is_folder
        if not (S_ISDIR(mode) if wants_folder else S_ISREG(mode)):
            kind = "folder" if wants_folder else "file"
            why = f"/{path} of the container leads there" if str(place) != f"{root}/{path}" else ""
            raise BadInput(f"{place} is no {kind}", "image", why)
