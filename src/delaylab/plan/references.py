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

REFERENCE = re.compile(r"\{(file|drive|engine-image):([^}]*)\}")


def to_file(path: str) -> str:
    """Return a reference to a file or folder of this machine."""
    return f"{{file:{quote(path)}}}"


def to_drive(path: str) -> str:
    """Return a reference within an option of QEMU, to a user's disk image as a drive's file."""
    return f"{{drive:{quote(path)}}}"


def to_engine_image(path: str) -> str:
    """Return a reference within a JSON text to a tar that a container engine gets."""
    return f"{{engine-image:{quote(path)}}}"


@dataclass(frozen=True)
class Places:
    """Where files of this machine are on the machine of a guest, by their paths here.

    `file` and `engine_image` return a path there, the latter that of a tar for a container engine.
    `drive` returns the option `file=` of a drive, with the image's format.
    """

    file: Callable[[str], str]
    engine_image: Callable[[str], str]
    drive: Callable[[str], str]


def filled_in(text: str, places: Places) -> str:
    """Return a text with what stands for each reference on the machine of the guest."""

    def found(reference: re.Match[str]) -> str:
        form, name = reference[1], unquote(reference[2])
        if form == "engine-image":
            return json.dumps(places.engine_image(name))[1:-1]
        return places.drive(name) if form == "drive" else places.file(name)

    return REFERENCE.sub(found, text)
