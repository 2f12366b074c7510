"""Images that containers and virtual machines boot, built from the distribution's packages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from delaylab.errors import BadInput, NotHere
from delaylab.images import packaged
from delaylab.images.build import build, find
from delaylab.images.cache import KEY_LENGTH, Layer, clean, folder, layers
from delaylab.images.own import with_agent
from delaylab.progress import Progress, silent
from delaylab.spec.base import PACKAGE

__all__ = [
    "IMAGES",
    "Layer",
    "Progress",
    "build",
    "clean",
    "files_of",
    "folder",
    "is_built",
    "layers",
    "layers_of",
    "missing",
    "name_in_cache",
    "require",
    "resolve",
    "silent",
    "used",
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
    "boot-cloud": {"initrd": ("boot-cloud", "initrd")},
    "boot-full": {"initrd": ("boot-full", "initrd")},
    "boot-uml": {"initrd": ("boot-uml", "initrd")},
    "scratch": {"disk": ("scratch", "disk")},
}
WITH_AGENT = "with-agent"
File = tuple[str, str]
"""A layer, and a file in it."""
REFERENCE = re.compile(r"\{image:([^/}]*)/([^}]*)\}")


def files_of(name: str) -> dict[str, File]:
    """Return the files of an image by their names in `{image:…}`.

    An image with packages is named with them: `container:pigz:xz-utils`. Raises BadInput if there
    is no such image.
    """
    if name in IMAGES:
        return IMAGES[name]
    image, packages = packaged.split(name)
    if image not in packaged.FILES or not packages:
        raise BadInput(f"no image {name!r}", fix=f"one of {', '.join(IMAGES)}")
    wrong = next((each for each in packages if not re.fullmatch(PACKAGE, each)), None)
    if wrong is not None:
        raise BadInput(f"no package can be called {wrong!r}", f"image {name}")
    return {
        word: (packaged.named(kind, packages), file)
        for word, (kind, file) in packaged.FILES[image].items()
    }


def layers_of(names: Iterable[str]) -> list[str]:
    """Return the layers that contain the files of these images."""
    return sorted({layer for name in names for layer, _ in files_of(name).values()})


def is_built(name: str) -> bool:
    """Return True if every layer of an image is in the cache, so that `require` builds nothing."""
    return all(find(layer) for layer in layers_of([name]))


def require(name: str, progress: Progress = silent) -> dict[str, Path]:
    """Return the files of an image, built first if they are not in the cache.

    Raises BadInput if there is no such image, NotHere if it cannot be built on this system.
    """
    return _made(name, files_of(name), progress)


def _made(name: str, files: dict[str, File], progress: Progress) -> dict[str, Path]:
    found = {layer: find(layer) for layer, _ in files.values()}
    if not all(found.values()):
        try:
            found.update(build(found, progress, newer=False))
        except NotHere as error:
            error.where = error.where or f"image {name}"
            raise
    paths = {layer: made.path for layer, made in found.items() if made is not None}
    return {word: paths[layer] / file for word, (layer, file) in files.items()}


def resolve(
    text: str,
    progress: Progress = silent,
    known: dict[str, str] | None = None,
    placed: Callable[[Path], str] = str,
) -> str:
    """Return a text with each `{image:NAME/FILE}` replaced by that file's path, built if missing.

    `{image:with-agent/INITRD}` is a user's own initrd with the agent added as its init. `placed`
    says where a file is on the machine that the text is for. `known` keeps paths for the next text.
    """
    found = {} if known is None else known

    def path(reference: re.Match[str]) -> str:
        if reference[0] not in found:
            found[reference[0]] = placed(_file(reference[1], reference[2], progress))
        return found[reference[0]]

    return REFERENCE.sub(path, text)


def missing(texts: Iterable[str]) -> list[str]:
    """Return the images that these texts refer to and that are not built, by name."""
    named = {found[1] for text in texts for found in REFERENCE.finditer(text)}
    return sorted(name for name in named - {WITH_AGENT} if not is_built(name))


def used(words: Iterable[str]) -> dict[str, str]:
    """Return the layers of the cache that the words of commands name, each with its key."""
    place = re.compile(rf"{re.escape(str(folder()))}/([^/,]+)-([0-9a-f]{{{KEY_LENGTH}}})/")
    return dict(sorted({found for word in words for found in place.findall(word)}))


def name_in_cache(path: Path) -> str | None:
    """Return the name of a layer's file, which says its content; None if it is in no layer."""
    try:
        layer, *rest = path.relative_to(folder()).parts
    except ValueError:
        return None
    return f"{layer}/{rest[0]}" if len(rest) == 1 else None


def _file(name: str, file: str, progress: Progress) -> Path:
    if name == WITH_AGENT:
        return with_agent(Path(file), progress)
    files = files_of(name)
    if file not in files:
        raise BadInput(f"image {name} has no {file!r}", fix=f"one of {', '.join(files)}")
    # Of an image with packages, only what this kind of node needs is made.
    wanted = files if name in IMAGES else {file: files[file]}
    return _made(name, wanted, progress)[file]
