"""CPU time that control groups have used, as this machine's kernel accounts for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_NS, _US = 1e9, 1e6


def used_s(folders: Mapping[str, str]) -> float | None:
    """Return the CPU time of a group and all below it, in s; None if the kernel does not tell.

    `folders` maps `cpuacct` (version 1) or `unified` (version 2) to the group's folder. Read are
    `cpuacct.usage` (Documentation/admin-guide/cgroup-v1/cpuacct.rst) and `usage_usec` of `cpu.stat`
    (Documentation/admin-guide/cgroup-v2.rst).
    """
    try:
        if "cpuacct" in folders:
            return int(Path(folders["cpuacct"], "cpuacct.usage").read_text()) / _NS
        if "unified" in folders:
            text = Path(folders["unified"], "cpu.stat").read_text()
            fields = dict(line.split() for line in text.splitlines())
            return int(fields["usage_usec"]) / _US
    except (OSError, KeyError, ValueError):
        return None
    return None
