"""Layers with packages that a lab names: their content, and trees, archives and disks with it.

A layer is called KIND:PACKAGE:PACKAGE …, with the packages in alphabetical order.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from delaylab.images import apt, disk, settings, tools, tree
from delaylab.images.cache import digest
from delaylab.images.recipes import Assembled, FromPackages, Parts, Recipe
from delaylab.progress import Progress

SEPARATOR = ":"
FILES = {
    "container": {"rootfs": ("rootfs", "rootfs"), "tar": ("tar", "rootfs.tar")},
    "disk": {"disk": ("disk", "disk")},
}
"""Image with packages -> name in `{image:…}` -> kind of layer, and file in that layer."""
LONGEST = 80
"""The most characters of a folder's name that are names of packages."""
FORM = 5


def split(name: str) -> tuple[str, list[str]]:
    """Return the image or kind of layer, and the packages, of a name; no packages for others."""
    first, *packages = name.split(SEPARATOR)
    return first, sorted(set(packages))


def named(kind: str, packages: list[str]) -> str:
    """Return the name of an image or a layer with packages."""
    return SEPARATOR.join([kind, *packages])


def recipe(name: str) -> Recipe:
    """Return the recipe of a layer with packages."""
    kind, packages = split(name)
    content, root = named("packages", packages), named("rootfs", packages)
    if kind == "packages":
        form = [FORM, packages, tree.DROPPED]
        return FromPackages(
            _folder(kind, packages), form, lambda: apt.needed(packages), _content, scripts=True
        )
    parts = ("tools", content) if kind == "rootfs" else (root,)
    makers = {"rootfs": _rootfs, "tar": _tar, "disk": _disk}
    return Assembled(_folder(kind, packages), FORM, parts, makers[kind](packages))


def _folder(kind: str, packages: list[str]) -> str:
    """Return the name of a layer's folders: with the packages' names, as far as there is room."""
    names = "_".join(packages)
    if len(names) > LONGEST:
        names = f"{names[:LONGEST]}_{digest(packages)}"
    return f"{kind}_{names}"


def _content(unpacked: Path, out: Path, progress: Progress) -> None:
    """Write `rootfs` with the packages' files, and `passwd` and `group` with their accounts."""
    progress("collecting files", 0)
    root = out / "rootfs"
    tree.move(unpacked, root)
    scripts = [
        path.read_text(errors="replace")
        for path in sorted((unpacked / apt.CONTROL).glob("*/postinst"))
    ]
    settings.link_alternatives(scripts, root)
    settings.write_accounts(scripts, root, out)
    settings.make_folders(scripts, root)
    settings.write_pam(root)


Maker = Callable[[Parts, Path, Progress], None]


def _rootfs(packages: list[str]) -> Maker:
    def make(parts: Parts, out: Path, progress: Progress) -> None:
        """Write `rootfs`: the tree that every guest has, with the files of the packages over it."""
        progress("linking files", 0)
        root, content = out / "rootfs", parts[_folder("packages", packages)]
        shutil.copytree(parts["tools"] / "rootfs", root, symlinks=True, copy_function=tree.link)
        tree.lay_over(content / "rootfs", root)
        with suppress(FileExistsError):
            (root / "var/run").symlink_to("../run")
        for name in ("passwd", "group"):
            known = (root / "etc" / name).read_text()
            (root / "etc" / name).unlink()  # it may be a link to the file of another layer
            (root / "etc" / name).write_text(known + (content / name).read_text())
        settings.write_shadow(root)

    return make


def _tar(packages: list[str]) -> Maker:
    def make(parts: Parts, out: Path, progress: Progress) -> None:
        """Write `rootfs.tar`."""
        progress("writing the archive", 0)
        tools.write_tar(out / "rootfs.tar", parts[_folder("rootfs", packages)] / "rootfs")

    return make


def _disk(packages: list[str]) -> Maker:
    def make(parts: Parts, out: Path, progress: Progress) -> None:
        """Write `disk`."""
        progress("writing the disk", 0)
        disk.make_of(out / "disk", parts[_folder("rootfs", packages)] / "rootfs")

    return make
