"""The files by which this machine knows labs over several machines.

A file for each of them is in the run directory, `.clusters/LAB.json`: the machines, how they are
reached, and what their keepers answered. It is there before any part of the lab is kept, and is
removed when all parts are gone: what a machine that could not be reached still has is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from delaylab.machines.directory import NotTrusted, TrustedDirectory
from delaylab.machines.registry import run_directory
from delaylab.machines.sweep import CLUSTERS


def write(name: str, text: str) -> None:
    """Write the file of a lab, as a whole or not at all."""
    folder = run_directory() / CLUSTERS
    folder.mkdir(mode=0o700, exist_ok=True)
    draft = folder / f".{name}.{os.getpid()}"
    draft.write_text(text, encoding="utf-8")
    draft.replace(folder / f"{name}.json")


def forget(name: str) -> None:
    """Remove the file of a lab, and the folder if it is the last one."""
    folder = run_directory() / CLUSTERS
    (folder / f"{name}.json").unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def any_known() -> bool:
    """Return True if this machine knows a lab over several machines."""
    return next(read_all(), None) is not None


def read_all() -> Iterator[tuple[str, bytes]]:
    """Yield the name of each lab, and the text of its file."""
    try:
        folder = TrustedDirectory.open(run_directory()).enter(CLUSTERS)
        names = folder.names()
    except (OSError, NotTrusted):
        return
    for name in names:
        if name.endswith(".json"):
            with suppress(OSError), os.fdopen(folder.file(name), "rb") as file:
                yield name.removesuffix(".json"), file.read()
