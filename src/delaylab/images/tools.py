"""The layer `tools`: a root tree of busybox, a shell, and the programs for loads and tests."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from delaylab.errors import DelaylabError
from delaylab.images import cpio
from delaylab.images.programs import copy_programs, make_root
from delaylab.io.programs import output
from delaylab.progress import Progress

# dash is the shell: busybox's own would run its applets `ping`, `ip` and `tc` instead of the real
# programs.
PROGRAMS = {
    "busybox": ["bin/busybox"],
    "dash": ["bin/dash"],
    "stress-ng": ["usr/bin/stress-ng"],
    "iperf3": ["usr/bin/iperf3"],
    "iputils-ping": ["bin/ping"],
    "iproute2": ["bin/ip", "sbin/tc"],
}
LIMIT_S = 60.0
"""The time in which busybox has to list its applets."""
# A kernel needs these before anything is mounted on /dev.
DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3)}


def make(unpacked: Path, out: Path, progress: Progress) -> None:
    """Write `rootfs` (a folder) and `tools.cpio`."""
    progress("copying programs", 0)
    root = out / "rootfs"
    make_root(root)
    programs = [path for paths in PROGRAMS.values() for path in paths]
    copy_programs(unpacked, root, programs)
    (root / "bin/sh").symlink_to("dash")
    _link_applets(unpacked / "bin/busybox", root)
    progress("writing the archive", 0.5)
    cpio.write_tree(out / "tools.cpio", root, DEVICES)


def _link_applets(busybox: Path, root: Path) -> None:
    """Link busybox's applets into /bin, except where the real program is in the tree."""
    code, listed, errors = output([str(busybox), "--list"], dict(os.environ), LIMIT_S)
    if code:
        raise DelaylabError(f"busybox does not list its applets: {errors.strip()[-200:]}")
    for applet in listed.split():
        if not any((root / folder / applet).exists() for folder in ("bin", "sbin")):
            (root / "bin" / applet).symlink_to("busybox")


def write_tar(path: Path, root: Path) -> None:
    """Write a root tree as a tar archive with all of it owned by root."""

    def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = 0
        return member

    with tarfile.open(path, "w") as archive:
        archive.add(root, arcname=".", filter=owned_by_root)
