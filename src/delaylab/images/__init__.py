"""Images that containers and virtual machines boot, built from the distribution's packages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from delaylab.errors import BadInput, NotHere
from delaylab.images.build import build, find
from delaylab.images.cache import Layer, clean, folder, layers
from delaylab.images.own import with_agent
from delaylab.progress import Progress, silent

__all__ = [
    "IMAGES",
    "Layer",
    "Progress",
    "build",
    "clean",
    "folder",
    "is_built",
    "layers",
    "layers_of",
    "missing",
    "require",
    "resolve",
    "silent",
]

# Image -> name in `{image:…}` -> layer, and file in that layer.
IMAGES: dict[str, dict[str, tuple[str, str]]] = {
    "agent": {"program": ("agent", "delaylab-agent")},
    "container": {"rootfs": ("container", "rootfs"), "tar": ("container", "rootfs.tar")},
    "cloud": {
        "kernel": ("kernel-cloud", "vmlinux"),
        "bzimage": ("kernel-cloud", "vmlinuz"),
        "initrd": ("cloud", "initrd"),
    },
    "full": {
        "kernel": ("kernel-full", "vmlinux"),
        "bzimage": ("kernel-full", "vmlinuz"),
        "initrd": ("full", "initrd"),
    },
    "xen": {
        "hypervisor": ("xen-tools", "hypervisor"),
        "kernel": ("kernel-full", "vmlinuz"),
        "initrd": ("xen", "initrd"),
    },
    "domain": {
        "kernel": ("kernel-cloud", "vmlinuz"),
        "initrd": ("cloud", "initrd"),
        "start": ("domain", "start"),
        "vif": ("domain", "vif"),
    },
    "uml": {"linux": ("kernel-uml", "linux"), "initrd": ("uml", "initrd")},
    "scratch": {"disk": ("scratch", "disk")},
}
WITH_AGENT = "with-agent"
REFERENCE = re.compile(r"\{image:([^/}]*)/([^}]*)\}")


def layers_of(names: Iterable[str]) -> list[str]:
    """Return the layers that contain the files of these images."""
    return sorted({layer for name in names for layer, _ in IMAGES[name].values()})


def is_built(name: str) -> bool:
    """Return True if every layer of an image is in the cache, so that `require` builds nothing."""
    return all(find(layer) for layer in layers_of([name]))


def require(name: str, progress: Progress = silent) -> dict[str, Path]:
    """Return the files of an image, built first if they are not in the cache.

    Raises BadInput if there is no such image, NotHere if it cannot be built on this system.
    """
    if name not in IMAGES:
        raise BadInput(f"no image {name!r}", fix=f"one of {', '.join(IMAGES)}")
    found = {layer: find(layer) for layer in layers_of([name])}
    if not all(found.values()):
        try:
            found.update(build(found, progress, newer=False))
        except NotHere as error:
            error.where = error.where or f"image {name}"
            raise
    paths = {layer: made.path for layer, made in found.items() if made is not None}
    return {word: paths[layer] / file for word, (layer, file) in IMAGES[name].items()}


def resolve(text: str, progress: Progress = silent, known: dict[str, str] | None = None) -> str:
    """Return a text with each `{image:NAME/FILE}` replaced by that file's path, built if missing.

    `{image:with-agent/INITRD}` is a user's own initrd with the agent added as its init. `known`
    keeps paths for the next text.
    """
    found = {} if known is None else known

    def path(reference: re.Match[str]) -> str:
        if reference[0] not in found:
            found[reference[0]] = str(_file(reference[1], reference[2], progress))
        return found[reference[0]]

    return REFERENCE.sub(path, text)


def missing(texts: Iterable[str]) -> list[str]:
    """Return the images that these texts refer to and that are not built, by name."""
    named = {found[1] for text in texts for found in REFERENCE.finditer(text)}
    return sorted(name for name in named & set(IMAGES) if not is_built(name))


def _file(name: str, file: str, progress: Progress) -> Path:
    if name == WITH_AGENT:
        return with_agent(Path(file), progress)
    files = require(name, progress)
    if file not in files:
        raise BadInput(f"image {name} has no {file!r}", fix=f"one of {', '.join(files)}")
    return files[file]
