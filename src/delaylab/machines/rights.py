"""The rights of this process, and the programs and devices that this machine has."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from delaylab.plan.kind import DEVICES, PACKAGES, Rights
from delaylab.spec.capabilities import ALL_CAPABILITIES, Capability

XEN_CAPABILITIES = Path("/proc/xen/capabilities")
"""The file with the rights of this Xen domain: `control_d` in a dom0."""


def own_rights() -> Rights:
    """Return the rights of this process."""
    lacking = {name for name in PACKAGES if shutil.which(name) is None}
    lacking |= {path for path in DEVICES if not os.access(path, os.R_OK | os.W_OK)}
    root = os.geteuid() == 0
    # A user without root becomes root of a user namespace, with all capabilities.
    capabilities = _bounding_set() if root else frozenset(ALL_CAPABILITIES)
    return Rights(root, frozenset(lacking), root and _is_dom0(), capabilities, _has_amx())


def _bounding_set() -> frozenset[Capability]:
    """Return the capabilities of this process's bounding set (proc_pid_status(5))."""
    lines = Path("/proc/self/status").read_text().splitlines()
    bits = next(int(line.split()[1], 16) for line in lines if line.startswith("CapBnd:"))
    return frozenset(name for number, name in enumerate(ALL_CAPABILITIES) if bits >> number & 1)


def _has_amx() -> bool:
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return flags is not None and "amx_tile" in flags[1].split()


def _is_dom0() -> bool:
    try:
        rights = XEN_CAPABILITIES.read_text()
    except OSError:
        return False
    return "control_d" in rights and shutil.which("xl") is not None
