"""The layer `xen`: the hypervisor, and what its driver domain (dom0) runs to start guests."""

from __future__ import annotations

import gzip
from pathlib import Path

from delaylab.errors import NotHere
from delaylab.images import apt, cpio
from delaylab.images.programs import copy_programs
from delaylab.images.progress import Progress

SYSTEM = "xen-system-amd64"
OWN = ("xl", "xenstored", "xenconsoled", "xenconsole", "xen-init-dom0")
"""In a folder of Xen's version."""
STORE = ("read", "write", "ls", "list", "rm", "watch", "exists")
THREADS = "lib/x86_64-linux-gnu/libgcc_s.so.1"
"""Loaded by name when a thread ends: no program says that it needs it."""
FOLDERS = ("run/xen", "run/xenstored", "var/lib/xen", "var/lib/xenstored", "var/log/xen")
VIF_SCRIPT = "etc/xen/scripts/vif-simple"
VIF = """\
#!/bin/sh
# Xen calls this for each virtual interface: into its bridge, and tell Xen that it is there.
set -e
[ "$1" = online ] || exit 0
bridge=$(xenstore-read "$XENBUS_PATH/bridge")
ip link set dev "$vif" master "$bridge" up
xenstore-write "$XENBUS_PATH/hotplug-status" connected
"""


def packages() -> list[str]:
    """The hypervisor and its tools, with all that these need."""
    own = [apt.depends(SYSTEM, f"xen-{part}-4") for part in ("hypervisor", "utils")]
    return apt.closure([*own, "xenstore-utils", "libgcc-s1"])


def make(unpacked: Path, out: Path, progress: Progress) -> None:
    """Write `xen.elf` and `xen.cpio`, which completes a root tree of `tools`."""
    progress("copying programs", 0)
    hypervisor = next((unpacked / "boot").glob("xen-*.gz"), None)
    folder = next((unpacked / "usr/lib").glob("xen-4*/bin"), None)
    if hypervisor is None or folder is None:
        raise NotHere(f"{SYSTEM} has no hypervisor or no tools", fix="report this as a bug")
    (out / "xen.elf").write_bytes(gzip.decompress(hypervisor.read_bytes()))
    root = out / "rootfs"
    for name in ("bin", *FOLDERS):
        (root / name).mkdir(parents=True)
    place = folder.relative_to(unpacked)
    store = [f"usr/bin/xenstore-{verb}" for verb in STORE]
    copy_programs(unpacked, root, [*(f"{place}/{name}" for name in OWN), *store, THREADS])
    for name in OWN:
        (root / "bin" / name).symlink_to(f"/{place}/{name}")
    (root / "etc/xen").mkdir(parents=True)
    (root / "etc/xen/xl.conf").write_text('autoballoon="off"\n')
    script = root / VIF_SCRIPT
    script.parent.mkdir()
    script.write_text(VIF)
    script.chmod(0o755)
    progress("writing the archive", 0.8)
    cpio.write_tree(out / "xen.cpio", root)
