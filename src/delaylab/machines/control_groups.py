"""The CPU time and the memory of a control group, as this machine's kernel accounts for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

VCPU = "CPU "
"""The beginning of the names of QEMU's threads that are virtual CPUs (`debug-threads=on`)."""
_NS, _US = 1e9, 1e6


class LocalControlGroup:
    """A control group of this machine.

    `folders` maps `cpuacct` (version 1) or `unified` (version 2) to the group's folder.
    """

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = folders

    def cpu_s(self) -> float | None:
        """Return the CPU time of the group and all below it, in s; None if it is not told.

        Read are `cpuacct.usage` (Documentation/admin-guide/cgroup-v1/cpuacct.rst) and `usage_usec`
        of `cpu.stat` (Documentation/admin-guide/cgroup-v2.rst).
        """
        try:
            if "cpuacct" in self._folders:
                text = Path(self._folders["cpuacct"], "cpuacct.usage").read_text()
                return int(text) / _NS
            if "unified" in self._folders:
                text = Path(self._folders["unified"], "cpu.stat").read_text()
                fields = dict(line.split() for line in text.splitlines())
                return int(fields["usage_usec"]) / _US
        except (OSError, KeyError, ValueError):
            return None
        return None

    def vcpus_s(self) -> float | None:
        """Return the CPU time of its threads that are virtual CPUs, in s; None if there is none.

        The time is the first figure of `/proc/PID/task/TID/schedstat`
        (Documentation/scheduler/sched-stats.rst).
        """
        folder = self._folders.get("cpuacct", self._folders.get("unified"))
        if folder is None:
            return None
        found = [time_ns for pid in _processes(Path(folder)) for time_ns in _vcpus_ns(pid)]
        return sum(found) / _NS if found else None

    def memory_bytes(self) -> int:
        """Return the proportional set size of its processes (proc_pid_smaps(5), Pss)."""
        pids = {pid for folder in self._folders.values() for pid in _processes(Path(folder))}
        return sum(map(_pss_bytes, pids))


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


def _pss_bytes(pid: str) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # the process has ended
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
