"""CPU time of control groups and their threads, as this machine's kernel accounts for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

VCPU = "CPU "
"""The beginning of the names of QEMU's threads that are virtual CPUs (`debug-threads=on`)."""
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


def vcpus_s(folders: Mapping[str, str]) -> float | None:
    """Return the CPU time of the threads in a group that are virtual CPUs, in s.

    None if there is none, or if the kernel does not tell. The time is the first figure of
    `/proc/PID/task/TID/schedstat` (Documentation/scheduler/sched-stats.rst).
    """
    folder = folders.get("cpuacct", folders.get("unified"))
    if folder is None:
        return None
    found = [time_ns for pid in _processes(Path(folder)) for time_ns in _vcpus_ns(pid)]
    return sum(found) / _NS if found else None


def _processes(folder: Path) -> Iterator[str]:
    """Yield the processes of a group and of all below it, by their ids here."""
    for members in folder.rglob("cgroup.procs"):
        try:
            yield from members.read_text().split()
        except OSError:
            continue  # the group is gone


def _vcpus_ns(pid: str) -> Iterator[int]:
    """Yield the CPU time in ns of each thread of a process that is a virtual CPU."""
    for task in Path("/proc", pid, "task").glob("*"):
        try:
            if (task / "comm").read_text().startswith(VCPU):
                yield int((task / "schedstat").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            continue  # the thread has ended, or the kernel does not tell
