"""The layer `xen-tools`: the hypervisor and the programs of its driver domain."""

from __future__ import annotations

import gzip
from importlib import resources
from pathlib import Path

from delaylab.errors import NotHere
from delaylab.images import apt, cpio
from delaylab.images.programs import copy_programs, make_root
from delaylab.progress import Progress

PROGRAMS = ("xl", "xenstored", "xenconsoled", "xen-init-dom0", "libxl-save-helper")
TOOLS = ("usr/bin/xenstore-read", "usr/bin/xenstore-write", "usr/bin/flock")
# Loaded only when a thread is cancelled, so no program names it.
HIDDEN = ("lib/x86_64-linux-gnu/libgcc_s.so.1",)
SCRIPTS = {"dom0": "lib/delaylab/dom0", "domu": "lib/delaylab/domu", "vif": "etc/xen/scripts/vif"}


def packages() -> list[str]:
    """Return the hypervisor and its tools, of the distribution's version."""
    hypervisor = apt.depends("xen-system-amd64", "xen-hypervisor-4")
    utils = apt.depends("xen-system-amd64", "xen-utils-4")
    return sorted({hypervisor, *apt.closure([utils, "xenstore-utils", "util-linux"])})


def make(unpacked: Path, out: Path, progress: Progress) -> None:
    """Write `hypervisor` and `xen.cpio`."""
    images = sorted((unpacked / "boot").glob("xen-*.gz"))
    # Beside it there is a folder of wrappers, which run whatever version is active.
    folders = [path.parent for path in (unpacked / "usr/lib").glob("xen-*/bin/xenstored")]
    if not images or not folders:
        raise NotHere("the packages have no Xen", fix="report this as a bug")
    progress("decompressing the hypervisor", 0)
    (out / "hypervisor").write_bytes(gzip.decompress(images[0].read_bytes()))
    progress("copying programs", 0.2)
    root, folder = out / "root", folders[-1].relative_to(unpacked)
    make_root(root)
    programs = [f"{folder}/{name}" for name in PROGRAMS]
    # The paths of tools differ between releases.
    tools = [place for place in TOOLS if (unpacked / place).is_file()]
    copy_programs(unpacked, root, [*programs, *tools, *HIDDEN])
    for name, text in scripts().items():
        target = root / SCRIPTS[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755)
    (root / "lib/delaylab/xen").symlink_to(f"/{folder.as_posix().removeprefix('usr/')}")
    cpio.write_tree(out / "xen.cpio", root)


def scripts() -> dict[str, str]:
    """Return the driver domain's scripts, which delaylab adds."""
    folder = resources.files("delaylab.images").joinpath("xen")
    return {name: folder.joinpath(name).read_text() for name in SCRIPTS}
