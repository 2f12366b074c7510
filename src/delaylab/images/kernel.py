"""The layers `kernel-cloud`, `kernel-full` and `kernel-uml`: kernels and their modules."""

from __future__ import annotations

import shutil
from pathlib import Path

from delaylab.errors import NotHere
from delaylab.images import apt, bzimage, modules
from delaylab.progress import Progress

ARCHITECTURE = "amd64"


def package(flavour: str) -> list[str]:
    """Return the package of Debian's newest kernel of a flavour (`cloud-` or none).

    Raises NotHere on processors other than amd64.
    """
    found = apt.architecture()
    if found != ARCHITECTURE:
        raise NotHere(
            f"delaylab makes kernels for {ARCHITECTURE} only, this is {found}",
            fix="give a kernel and an initrd of your own in the lab file",
        )
    return [apt.depends(f"linux-image-{flavour}{found}", "linux-image-")]


def make(unpacked: Path, out: Path, progress: Progress) -> None:
    """Write `vmlinuz`, `vmlinux`, `modules.cpio`, and for a Xen driver domain `dom0.cpio`."""
    image = next((unpacked / "boot").glob("vmlinuz-*"))
    shutil.copyfile(image, out / "vmlinuz")
    progress("decompressing the kernel", 0)
    try:
        (out / "vmlinux").write_bytes(bzimage.vmlinux(image.read_bytes()))
    except ValueError as error:
        raise NotHere(str(error), image.name, "give a kernel of your own") from None
    progress("collecting modules", 0.6)
    tree = unpacked / "lib" / "modules"
    modules.write(out / "modules.cpio", tree)
    modules.write(out / "dom0.cpio", tree, (*modules.WANTED, *modules.DRIVER_DOMAIN))


def make_uml(unpacked: Path, out: Path, progress: Progress) -> None:
    """Write `linux` and `modules.cpio`."""
    progress("collecting modules", 0)
    shutil.copyfile(unpacked / "usr/bin/linux.uml", out / "linux")
    (out / "linux").chmod(0o755)
    modules.write(out / "modules.cpio", unpacked / "usr/lib/uml/modules")
