"""References to files of this machine in the command of a guest. Pure.

They are filled in when the lab starts: with the file's path on the machine that carries the guest.
References to files of images are `{image:NAME/FILE}` (`delaylab.images`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

REFERENCE = re.compile(r"\{(file|drive|engine-image|root|folder-in|file-in):([^}]*)\}")


def to_file(path: str) -> str:
    """Return a reference to a file or folder of this machine."""
    return f"{{file:{quote(path)}}}"


def to_drive(path: str) -> str:
    """Return a reference within an option of QEMU, to a user's disk image as a drive's file."""
    return f"{{drive:{quote(path)}}}"


def to_engine_image(path: str) -> str:
    """Return a reference within a JSON text to a tar that a container engine gets."""
    return f"{{engine-image:{quote(path)}}}"


def to_root(path: str) -> str:
    """Return a reference to a user's root file system that LXC can start."""
    return f"{{root:{quote(path)}}}"


def to_place(root: str, path: str, *, is_folder: bool) -> str:
    """Return a reference in a mount entry of LXC to a place in a user's root file system."""
    return f"{{{'folder' if is_folder else 'file'}-in:{quote(root)}:{quote(path)}}}"


@dataclass(frozen=True)
class Places:
    """The places on a guest's machine of files of this one, by their paths here.

    `file` and `engine_image` return a path there, the latter that of a tar for a container engine.
    `drive` returns the option `file=` of a drive, with the image's format. `root` returns the path
    of a root file system, and `inside` that of a place in one: from the root's path here, the
    place's, and whether a folder is wanted.
    """

    file: Callable[[str], str]
    engine_image: Callable[[str], str]
    drive: Callable[[str], str]
    root: Callable[[str], str]
    inside: Callable[[str, str, bool], str]


def filled_in(text: str, places: Places) -> str:
    """Return a text with what stands for each reference on the machine of the guest."""

    def found(reference: re.Match[str]) -> str:
        if reference[1] in {"folder-in", "file-in"}:
            root, path = map(unquote, reference[2].split(":"))
            return _escaped(places.inside(root, path, reference[1] == "folder-in"))
        form, name = reference[1], unquote(reference[2])
        if form == "engine-image":
            return json.dumps(places.engine_image(name))[1:-1]
        of_form = {"drive": places.drive, "root": places.root}
        return of_form.get(form, places.file)(name)

    return REFERENCE.sub(found, text)


def _escaped(path: str) -> str:
    """Return a path as a mount entry has it, where spaces separate fields (fstab(5))."""
    return re.sub(r"[\s\\#]", lambda found: f"\\{ord(found[0]):03o}", path)
