"""References to files of this machine in the command of a guest. Pure.

They are filled in when the lab starts: with the file's path on the machine that carries the guest.
References to files of images are `{image:NAME/FILE}` (`delaylab.images`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

REFERENCE = re.compile(r"\{(file|file-option|engine-image):([^}]*)\}")


def to_file(path: str) -> str:
    """Return a reference to a file or folder of this machine."""
    return f"{{file:{quote(path)}}}"


def to_file_in_option(path: str) -> str:
    """Return a reference within an option of QEMU, where a comma in the path is doubled."""
    return f"{{file-option:{quote(path)}}}"


def to_engine_image(path: str) -> str:
    """Return a reference within a JSON text to a tar that a container engine gets."""
    return f"{{engine-image:{quote(path)}}}"


def filled_in(text: str, placed: Callable[[str], str], image: Callable[[str], str]) -> str:
    """Return a text with the path of each reference's file.

    `placed` says where a file is, and `image` where the tar for a container engine is.
    """

    def path(reference: re.Match[str]) -> str:
        form, name = reference[1], unquote(reference[2])
        if form == "engine-image":
            return json.dumps(image(name))[1:-1]
        found = placed(name)
        return found.replace(",", ",,") if form == "file-option" else found

    return REFERENCE.sub(path, text)
