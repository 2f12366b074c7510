"""A user's own initramfs with the agent added as its init."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.images import cache
from delaylab.images.build import build
from delaylab.progress import Progress

NAME = "own"
BLOCK = 512
"""The alignment between archives in bytes; the kernel skips zeros there."""


def with_agent(initrd: Path, progress: Progress) -> Path:
    """Return a copy of the initrd, compressed or not, with the agent appended; cached by content.

    Raises BadInput if the initrd cannot be read.
    """
    try:
        with initrd.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"{initrd} cannot be read: {error.strerror}", "initrd") from None
    agent = build(["agent"], progress, newer=False)["agent"]
    key = cache.digest([content, agent.key])
    found = cache.exact(NAME, key)
    if found is None:
        with cache.building(progress), cache.partial(NAME) as folder:
            out = folder / "out"
            out.mkdir()
            progress(f"{initrd.name}: adding the agent", 0)
            shutil.copyfile(initrd, out / "initrd")
            with (out / "initrd").open("ab") as joined:
                joined.write(bytes(-joined.tell() % BLOCK))
                joined.write((agent.path / "agent.cpio").read_bytes())
            made_of = [f"{initrd} {content[: cache.KEY_LENGTH]}", agent.path.name]
            found = cache.publish(out, NAME, key, NAME, made_of)
    return found.path / "initrd"
