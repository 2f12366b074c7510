"""Software and settings of this machine that a study records: commit, governor, versions."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from delaylab.io.programs import TooSlow, output
from delaylab.records.provenance import Provenance

CODE = Path(__file__).parent
CPUS = Path("/sys/devices/system/cpu")
CGROUPS = Path("/sys/fs/cgroup")
CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
PROGRAMS: dict[str, tuple[str, ...]] = {
    "QEMU": ("qemu-system-x86_64", "--version"),
    "LXC": ("lxc-start", "--version"),
    "Docker": ("dockerd", "--version"),
    "stress-ng": ("stress-ng", "--version"),
    "iperf3": ("iperf3", "--version"),
}
"""The programs whose versions are recorded, with the command that tells it."""
LIMIT_S = 5.0
"""The time in which a program has to answer."""
VERSION = re.compile(r"\d+(?:\.\d+)+[^\s,)]*")


def provenance() -> Provenance:
    """Return the software and the settings of this machine; what cannot be told is left out."""
    versions = {name: _version(argv) for name, argv in PROGRAMS.items()}
    return Provenance(
        commit=_commit(),
        governor=_governors(),
        congestion_control=congestion_control(),
        mitigations={
            place.name: text
            for place in sorted((CPUS / "vulnerabilities").glob("*"))
            if (text := _text(place))
        },
        cgroups=_cgroups(),
        programs={name: found for name, found in versions.items() if found},
    )


def congestion_control() -> str | None:
    """Return this machine's TCP congestion control, with which new networks start (tcp(7))."""
    return _text(CONGESTION_CONTROL) or None


def _commit() -> str | None:
    """Return the commit of the checkout that this code is part of.

    None if it is in none, or if git does not say whether the code was changed.
    """
    git = ("git", "-C", str(CODE))
    # A folder of installed packages may lie in a checkout of something else.
    if _said((*git, "ls-files", "--error-unmatch", "__init__.py")) is None:
        return None
    commit = _said((*git, "rev-parse", "HEAD"))
    changed = _said((*git, "status", "--porcelain", "--untracked-files=no"))
    if changed is None:
        return None
    return f"{commit}-dirty" if commit and changed else commit


def _governors() -> str | None:
    """Return the governors of all CPUs, each once (cpufreq in the kernel's documentation)."""
    files = sorted(CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    return ", ".join(dict.fromkeys(text for file in files if (text := _text(file)))) or None


def _cgroups() -> str | None:
    """Return the version of control groups, by what is mounted (cgroups(7))."""
    if (CGROUPS / "cgroup.controllers").exists():
        return "2"
    kinds = {line.split()[2] for line in _text(Path("/proc/mounts")).splitlines()}
    if "cgroup" not in kinds:
        return None
    return "1 and 2" if "cgroup2" in kinds else "1"


def _version(argv: Sequence[str]) -> str | None:
    said = _said(argv)
    found = VERSION.search(said) if said else None
    return found[0] if found else None


def _said(argv: Sequence[str]) -> str | None:
    """Return what a program prints; None if it is not installed, fails, or does not answer."""
    if shutil.which(argv[0]) is None:
        return None
    try:
        code, out, _ = output(argv, {**os.environ, "LC_ALL": "C"}, LIMIT_S)
    except (OSError, TooSlow):
        return None
    return out.strip() if code == 0 else None


def _text(place: Path) -> str:
    try:
        return place.read_text(errors="replace").strip()
    except OSError:
        return ""
