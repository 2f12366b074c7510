"""References to files of this machine in the command of a guest. Pure.

They are filled in when the lab starts: with the file's path on the machine that carries the guest.
References to files of images are `{image:NAME/FILE}` (`delaylab.images`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

FILE = re.compile(r"\{file(-option)?:([^}]*)\}")


def to_file(path: str) -> str:
    """Return a reference to a file or folder of this machine."""
    return f"{{file:{_escaped(path)}}}"


def to_file_in_option(path: str) -> str:
    """Return a reference within an option of QEMU, where a comma in the path is doubled."""
    return f"{{file-option:{_escaped(path)}}}"


def filled_in(text: str, placed: Callable[[str], str]) -> str:
    """Return a text with each reference replaced by where `placed` says that its file is."""

    def path(reference: re.Match[str]) -> str:
        found = placed(reference[2].replace("%7D", "}").replace("%25", "%"))
        return found.replace(",", ",,") if reference[1] else found

    return FILE.sub(path, text)


def _escaped(path: str) -> str:
    return path.replace("%", "%25").replace("}", "%7D")
