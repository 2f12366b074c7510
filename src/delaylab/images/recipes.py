"""Recipes of the cache's layers: their parts and the functions that make them.

`form` must change whenever the function does.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from delaylab.agent.binary import agent_path
from delaylab.images import apt, cpio, disk, kernel, modules, programs, tools, xen_tools
from delaylab.images.cache import digest
from delaylab.progress import Progress

AGENT_NAME = "delaylab-agent"
AGENT_PLACE = f"sbin/{AGENT_NAME}"
DOMAIN_KERNEL, DOMAIN_INITRD = "lib/delaylab/domu-kernel", "lib/delaylab/domu-initrd"
DOMAIN_SCRIPTS = ("start", "vif")
SCRATCH_BYTES = 1 << 30
Parts = Mapping[str, Path]


@dataclass(frozen=True)
class FromPackages:
    """A layer made of the distribution's packages, reused without a check for newer ones."""

    name: str
    form: object
    packages: Callable[[], list[str]]
    make: Callable[[Path, Path, Progress], None]
    scripts: bool = False
    """True if it reads the packages' scripts, which are never run."""

    @property
    def recipe(self) -> str:
        """Return the hash that tells this recipe from those of other delaylab versions."""
        return digest([self.name, self.form])


@dataclass(frozen=True)
class Assembled:
    """A layer made of others and of files of this machine, whose hashes `content` gives."""

    name: str
    form: object
    parts: tuple[str, ...]
    make: Callable[[Parts, Path, Progress], None]
    content: Callable[[], list[str]] = list

    @property
    def recipe(self) -> str:
        """Return the hash that tells this recipe from those of other delaylab versions."""
        return digest([self.name, self.form, self.parts])


def _agent(parts: Parts, out: Path, progress: Progress) -> None:
    """Write `delaylab-agent`, and `agent.cpio` with it as a virtual machine's init."""
    shutil.copy(agent_path(), out / AGENT_NAME)
    (out / AGENT_NAME).chmod(0o755)
    agent = (out / AGENT_NAME).read_bytes()
    with (out / "agent.cpio").open("wb") as file:
        archive = cpio.Writer(file)
        archive.folder("sbin")
        archive.file(AGENT_PLACE, agent, 0o755)
        archive.link("init", AGENT_PLACE)
        archive.close()


def _agent_hash() -> list[str]:
    path = agent_path()
    about = path.stat()
    return [_hash(path, about.st_size, about.st_mtime_ns)]


@cache
def _hash(path: Path, _size: int, _changed_ns: int) -> str:
    """Return the hash of a file; it is computed once per size and time, for all layers."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _container(parts: Parts, out: Path, progress: Progress) -> None:
    """Write `rootfs`, a folder with the agent in it, and the same as `rootfs.tar`."""
    progress("copying the tree", 0)
    root = out / "rootfs"
    shutil.copytree(parts["tools"] / "rootfs", root, symlinks=True)
    shutil.copyfile(agent_path(), root / AGENT_PLACE)
    (root / AGENT_PLACE).chmod(0o755)
    progress("writing the archive", 0.5)
    tools.write_tar(out / "rootfs.tar", root)


def _initrd_of(archives: list[tuple[str, str]]) -> Callable[[Parts, Path, Progress], None]:
    def make(parts: Parts, out: Path, progress: Progress) -> None:
        """Write `initrd` from archives, which the kernel unpacks one after the other.

        It is not compressed: under emulation a guest boots 0.4 s sooner that way.
        """
        progress("joining archives", 0)
        with (out / "initrd").open("wb") as initrd:
            for layer, archive in archives:
                with (parts[layer] / f"{archive}.cpio").open("rb") as part:
                    shutil.copyfileobj(part, initrd)

    return make


def _dom0(parts: Parts, out: Path, progress: Progress) -> None:
    """Write `initrd`: a guest's, Xen's tools, and a domain's own kernel and initrd inside."""
    progress("joining archives", 0)
    archives = [
        ("tools", "tools"),
        ("kernel-full", "dom0"),
        ("agent", "agent"),
        ("xen-tools", "xen"),
    ]
    with (out / "initrd").open("wb") as initrd:
        for layer, archive in archives:
            initrd.write((parts[layer] / f"{archive}.cpio").read_bytes())
        inside = cpio.Writer(initrd)
        inside.folder("lib/delaylab")
        inside.file(DOMAIN_KERNEL, (parts["kernel-cloud"] / "vmlinuz").read_bytes())
        inside.file(DOMAIN_INITRD, (parts["cloud"] / "initrd").read_bytes())
        inside.close()


def _domain(parts: Parts, out: Path, progress: Progress) -> None:
    """Write the scripts `start` and `vif`, for a machine that is itself a Xen dom0."""
    for name, text in zip(DOMAIN_SCRIPTS, _domain_scripts(), strict=True):
        (out / name).write_text(text)
        (out / name).chmod(0o755)


def _scratch(parts: Parts, out: Path, progress: Progress) -> None:
    """Write `disk`, an empty file system that takes hardly any room until it is written to."""
    disk.make_empty(out / "disk", SCRATCH_BYTES)


def _domain_scripts() -> list[str]:
    folder = resources.files("delaylab.images").joinpath("domain")
    return [folder.joinpath(name).read_text() for name in DOMAIN_SCRIPTS]


def _kernel(name: str, flavour: str) -> FromPackages:
    form = [2, flavour, modules.WANTED, modules.DRIVER_DOMAIN]
    return FromPackages(name, form, lambda: kernel.package(flavour), kernel.make)


def _guest(name: str, kernel_layer: str) -> Assembled:
    parts = ("tools", kernel_layer, "agent")
    archives = [("tools", "tools"), (kernel_layer, "modules"), ("agent", "agent")]
    return Assembled(name, 1, parts, _initrd_of(archives))


def _boot(name: str, kernel_layer: str) -> Assembled:
    """Return the recipe of an initrd without programs, for a guest that has them on a disk."""
    archives = [(kernel_layer, "modules"), ("agent", "agent")]
    return Assembled(name, 1, (kernel_layer, "agent"), _initrd_of(archives))


Recipe = FromPackages | Assembled
RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        FromPackages(
            "tools",
            [2, tools.PROGRAMS, programs.FILES],
            lambda: apt.closure([*tools.PROGRAMS]),
            tools.make,
        ),
        _kernel("kernel-cloud", "cloud-"),
        _kernel("kernel-full", ""),
        FromPackages(
            "kernel-uml", [1, modules.WANTED], lambda: ["user-mode-linux"], kernel.make_uml
        ),
        Assembled("agent", 2, (), _agent, _agent_hash),
        Assembled("container", 1, ("tools",), _container, _agent_hash),
        _guest("cloud", "kernel-cloud"),
        _guest("full", "kernel-full"),
        _guest("uml", "kernel-uml"),
        _boot("boot-cloud", "kernel-cloud"),
        _boot("boot-full", "kernel-full"),
        _boot("boot-uml", "kernel-uml"),
        FromPackages(
            "xen-tools",
            [1, xen_tools.PROGRAMS, xen_tools.TOOLS, xen_tools.scripts()],
            xen_tools.packages,
            xen_tools.make,
        ),
        Assembled(
            "xen",
            2,
            ("tools", "kernel-full", "agent", "xen-tools", "kernel-cloud", "cloud"),
            _dom0,
        ),
        Assembled("domain", [1, _domain_scripts()], (), _domain),
        Assembled("scratch", [1, SCRATCH_BYTES], (), _scratch),
    )
}
