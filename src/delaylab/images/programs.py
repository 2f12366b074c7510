"""A root tree of a few programs, with only the shared libraries that they need."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from delaylab.errors import NotHere
from delaylab.images import elf

LIBRARY_FOLDERS = ("lib", "lib64", "usr/lib")
FOLDERS = {
    "bin": 0o755,
    "dev": 0o755,
    "etc": 0o755,
    "lib": 0o755,
    "proc": 0o555,
    "root": 0o700,
    "run": 0o755,
    "run/delaylab": 0o755,
    "sbin": 0o755,
    "sys": 0o555,
    "tmp": 0o1777,
    "var": 0o755,
    "var/tmp": 0o1777,
}
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    # Of a name with addresses of both versions the C library else finds the first alone.
    "etc/host.conf": "multi on\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def make_root(root: Path) -> None:
    """Make an empty system of folders, users and names; /usr is a link to / itself."""
    root.mkdir()
    for name, mode in FOLDERS.items():
        (root / name).mkdir()
        (root / name).chmod(mode)
    for name, text in FILES.items():
        (root / name).write_text(text)
    (root / "usr").symlink_to(".")


def copy_programs(unpacked: Path, root: Path, programs: Iterable[str]) -> None:
    """Copy programs, given by their paths in the packages, and the libraries that they need.

    Raises NotHere if the packages lack a file.
    """
    wanted: list[str] = []
    for program in programs:
        source = _copy(unpacked, root, program)
        if elf.is_elf(source):
            wanted += elf.libraries(source)
            _copy(unpacked, root, (elf.loader(source) or program).removeprefix("/"))
    known = _libraries(unpacked)
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in known:
            raise NotHere(f"the packages have no library {name}", fix="report this as a bug")
        wanted += elf.libraries(_copy(unpacked, root, known[name]))


def _libraries(unpacked: Path) -> dict[str, str]:
    """Return the path of each library in the packages, by the library's name."""
    found: dict[str, str] = {}
    for folder in LIBRARY_FOLDERS:
        for path in sorted((unpacked / folder).rglob("*.so*")):
            if path.is_file():
                found.setdefault(path.name, path.relative_to(unpacked).as_posix())
    return found


def _copy(unpacked: Path, root: Path, place: str) -> Path:
    """Copy a file, symbolic links followed, to its place in the tree; return its source."""
    source, target = unpacked / place, root / place.removeprefix("usr/")
    if not source.is_file():
        raise NotHere(f"the packages have no /{place}", fix="report this as a bug")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)
    return source
