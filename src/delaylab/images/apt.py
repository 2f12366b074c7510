"""The distribution's packages: looked up, fetched and unpacked without root, never installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from delaylab.errors import NotHere
from delaylab.io import programs
from delaylab.io.removal import remove_tree
from delaylab.progress import Progress

# Options for `apt-cache depends`. In its output, names without an indent are packages; those in <>
# are virtual, and stand for others of the list.
DEPENDENCIES_ONLY = [
    f"--no-{kind}"
    for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
]
URI_LINE = re.compile(r"'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) (?P<digest>\S*)")
STATUS_LINE = re.compile(r"dlstatus:\d+:(?P<percent>[\d.]+):")
# Unpacked, a package takes about four times its size; archive and content coexist for a while.
ROOM_FOR_EACH_BYTE = 5
# Options by which apt resolves dependencies as on a system with no package installed, and none in
# its folder of archives. Its caches are not written: they would hold that system, and are root's.
ON_AN_EMPTY_SYSTEM = [
    *("-o", "Dir::State::status=/dev/null", "-o", "Dir::State::extended_states=/dev/null"),
    *("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "-o", "Debug::NoLocking=1"),
    *("-o", "Dir::Cache::Archives=/dev/null"),
]
# The second form is for a virtual package, which several others provide.
UNKNOWN = re.compile(r"(?:Unable to locate package |Package ')([a-z0-9][a-z0-9+.-]*)")
LIMIT_S = 600.0
"""The time in which apt and dpkg have to answer, or to unpack one package."""
CONTROL = ".control"
"""The folder, below that of unpacked packages, with a folder of scripts for each of them."""


@dataclass(frozen=True)
class Package:
    """One version of a package, as in the package lists."""

    name: str
    version: str
    digest: str
    size_bytes: int


def architecture() -> str:
    """Return the distribution's name of this processor's architecture."""
    return _run(["dpkg", "--print-architecture"]).strip()


def closure(names: Sequence[str]) -> list[str]:
    """Return these packages, followed by all that they depend on."""
    listed = _run(["apt-cache", "depends", "--recurse", *DEPENDENCIES_ONLY, *names])
    others = {line for line in listed.splitlines() if re.match(r"[a-z0-9]", line)} - {*names}
    return [*names, *sorted(others)]


def needed(names: Sequence[str]) -> list[str]:
    """Return these packages, followed by all that apt would install with them on an empty system.

    Of alternatives that is the one that apt chooses. Raises NotHere if a package is unknown.
    """
    options = ["-qq", "--yes", "--no-install-recommends", "--print-uris", *ON_AN_EMPTY_SYSTEM]
    listed = _run(["apt-get", *options, "install", *names])
    found = {_named(line) for line in URI_LINE.finditer(listed)}
    # apt takes `NAME-` for an order to remove, and the name of a virtual package for one of others.
    lacking = [name for name in names if name not in found]
    if lacking:
        raise _unknown(lacking[0])
    return [*names, *sorted(found - {*names})]


def depends(name: str, prefix: str) -> str:
    """Return the dependency of a package that begins with `prefix`; NotHere if there is none."""
    listed = _run(["apt-cache", "depends", *DEPENDENCIES_ONLY, name])
    found = re.search(rf"Depends: ({re.escape(prefix)}\S*)", listed)
    if found is None:
        raise NotHere(f"the package {name} depends on no {prefix}…", fix="apt-get update, as root")
    return found[1]


def look_up(names: Sequence[str]) -> list[Package]:
    """Return the versions that would be fetched now, in the order of `names`."""
    listed = _run(["apt-get", "--print-uris", "download", *names])
    packages = []
    for line in URI_LINE.finditer(listed):
        _, version, _ = unquote(line["file"]).removesuffix(".deb").rsplit("_", 2)
        packages.append(Package(_named(line), version, line["digest"], int(line["size"])))
    return sorted(packages, key=lambda package: names.index(package.name))


def _named(line: re.Match[str]) -> str:
    return unquote(line["file"]).split("_")[0]


def fetch(
    packages: Sequence[Package], into: Path, progress: Progress, *, scripts: bool = False
) -> None:
    """Download packages into a folder and unpack them there, on top of each other.

    With `scripts` their maintainers' scripts are kept below CONTROL; they are never run.
    Raises NotHere if the disk has too little room or the packages cannot be fetched.
    """
    size = sum(package.size_bytes for package in packages)
    free = shutil.disk_usage(into).free
    if free < size * ROOM_FOR_EACH_BYTE:
        raise NotHere(
            f"{free >> 20} MiB are free, about {size * ROOM_FOR_EACH_BYTE >> 20} MiB are needed",
            str(into.parent),
            "free some, or set DELAYLAB_CACHE to a folder on another disk",
        )
    archives = into / ".archives"
    archives.mkdir()
    _download([f"{package.name}={package.version}" for package in packages], archives, progress)
    for done, archive in enumerate(sorted(archives.iterdir())):
        progress("unpacking", done / len(packages))
        _run(["dpkg-deb", "-x", str(archive), str(into)])
        if scripts:
            own = into / CONTROL / archive.name.split("_")[0]
            own.parent.mkdir(exist_ok=True)
            _run(["dpkg-deb", "-e", str(archive), str(own)])
    remove_tree(archives)


def _download(names: Sequence[str], into: Path, progress: Progress) -> None:
    progress("downloading", 0)
    options = ["-q", "-o", "APT::Status-Fd=1", "-o", "APT::Sandbox::User=root"]
    argv = [_program("apt-get"), *options, "download", *names]
    lines = []
    with programs.started(argv, _environment(), into, errors=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            status = STATUS_LINE.match(line)
            if status:
                progress("downloading", float(status["percent"]) / 100)
            else:
                lines.append(line)
    if process.returncode:
        raise _failure("".join(lines))


def _run(argv: list[str]) -> str:
    """Return what a program prints; raise NotHere if it fails, TooSlow if it does not end."""
    code, out, errors = programs.output([_program(argv[0]), *argv[1:]], _environment(), LIMIT_S)
    if code:
        raise _failure(errors)
    return out


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotHere(
            f"images are made of Debian's packages, and this system has no {name}",
            fix="build them on a Debian system and copy its cache folder, "
            "or give a kernel and an image of your own in the lab file",
        )
    return found


def _unknown(name: str) -> NotHere:
    fix = "check its name, or run `apt-get update` as root; the images need Debian's packages"
    return NotHere(f"apt knows no package {name}", fix=fix)


def _failure(output: str) -> NotHere:
    """Return the complaint of apt or dpkg as an error of one line, with a remedy."""
    complaints = [line for line in output.splitlines() if line.startswith(("E:", "dpkg"))]
    text = "; ".join(line.removeprefix("E: ") for line in complaints[:2]) or output.strip()[-300:]
    if "No space left" in output or "enough free space" in output:
        return NotHere(f"the disk is full: {text}", fix="free some, or set DELAYLAB_CACHE")
    unknown = UNKNOWN.search(output)
    if unknown is not None:
        return _unknown(unknown[1])
    if "No packages found" in output or "Can't select" in output:
        return NotHere(text, fix="run `apt-get update` as root; the images need Debian's packages")
    if "Failed to fetch" in output or "Could not resolve" in output:
        return NotHere(
            f"packages could not be fetched, and no image was built before: {text}",
            fix="connect this machine to its package mirror, or run `apt-get update` as root",
        )
    return NotHere(text, fix="does `apt-get download busybox` work?")
