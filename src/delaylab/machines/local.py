"""The machine that this program runs on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING

from delaylab.errors import DelaylabError
from delaylab.machines import process, registry
from delaylab.machines.control_groups import LocalControlGroup
from delaylab.machines.directory import TrustedDirectory
from delaylab.machines.identity import MachineIdentity, identity
from delaylab.machines.keeper import Keeper
from delaylab.machines.machine import DescribedLab, LabRecord, Machine
from delaylab.machines.sweep import SweepResult, sweep
from delaylab.progress import Progress
from delaylab.spec.this_machine import LOCAL_MACHINE

if TYPE_CHECKING:
    from delaylab.agent.session import Session
    from delaylab.agent.wire.sessions import BuildDone
    from delaylab.plan.kind import Rights
    from delaylab.plan.model import Plan
    from delaylab.records.machine import MachineRecord

ONLINE = Path("/sys/devices/system/cpu/online")


class LocalMachine(Machine):
    """The machine that this program runs on, with the rights of its user."""

    name, words = LOCAL_MACHINE, "this machine"

    def identity(self) -> MachineIdentity:
        """Ask this machine's agent which machine it is."""
        return identity(self.session(), None)

    def clock(self) -> None:
        """Return None: its clock is that of this process."""

    def lacking(self, programs: Collection[str]) -> set[str]:
        """Return which of these programs are not installed."""
        return {name for name in programs if shutil.which(name) is None}

    def output(self, argv: Sequence[str], limit_s: float) -> str | None:
        """Return what a program prints in the C locale; None if it is not installed."""
        if self.lacking(argv[:1]):
            return None
        from delaylab.io import programs  # noqa: PLC0415  few labs run any

        _, out, _ = programs.output(argv, {**os.environ, "LC_ALL": "C"}, limit_s)
        return out

    def rights(self) -> Rights:
        """Return what this process may do, and the programs and devices that are missing."""
        from delaylab.machines.rights import own_rights  # noqa: PLC0415  loads what plans are of

        return own_rights()

    def describe(self) -> MachineRecord:
        """Return the description of this machine."""
        from delaylab.machines.description import describe  # noqa: PLC0415  only studies need it

        return describe(self.session)

    def cpus(self) -> list[int]:
        """Return the numbers of the CPUs that run, in order (cpu-hotplug in the kernel's docs)."""
        return cpu_numbers(ONLINE.read_text(encoding="ascii"))

    def available_bytes(self) -> int:
        """Return the bytes that new programs can use without swapping (proc(5), MemAvailable)."""
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        raise LookupError("/proc/meminfo has no MemAvailable")

    def free_bytes(self, path: PurePath) -> int:
        """Return the free bytes of the file system of a path."""
        about = os.statvfs(path)
        return about.f_bavail * about.f_frsize

    def most_neighbours(self) -> int | None:
        """Return how many neighbours the kernel keeps for all networks; None if it does not say."""
        # Of IPv4; the default of IPv6 is the same.
        try:
            return int(Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3").read_text())
        except (OSError, ValueError):
            return None

    def kernel_parts(self) -> dict[str, str | None]:
        """Return the parts of the kernel, tried in a network namespace of its own."""
        from delaylab.agent.binary import kernel_parts  # noqa: PLC0415  few verbs ask an agent

        return kernel_parts()

    def put(self, path: Path, progress: Progress) -> PurePosixPath:
        """Return the path itself: the file is here."""
        return PurePosixPath(path)

    def why_no_kvm(self, progress: Progress) -> str | None:
        """Return why virtual machines cannot run on KVM here, None if they can."""
        from delaylab.images import kvm  # noqa: PLC0415  few labs have virtual machines

        return kvm.probe(progress).reason

    def control_group(self, folders: Mapping[str, str]) -> LocalControlGroup:
        """Return a control group by its folders."""
        return LocalControlGroup(folders)

    def started_at(self, pid: int) -> int | None:
        """Return a process's start in clock ticks since boot; None if there is no such process."""
        return process.started_at(pid)

    def starts(self, pids: Sequence[int]) -> list[int | None]:
        """Return the start of each process, as `started_at` does."""
        return [process.started_at(pid) for pid in pids]

    def child(self, parent: int, inside: int) -> int | None:
        """Return the pid of a child that the lab's PID namespace numbers `inside`.

        Pids inside are small and mean other processes outside.
        """
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
            for child in children:
                status = Path(f"/proc/{child}/status").read_text()
                numbers = re.search(r"^NSpid:(.*)$", status, re.M)
                if numbers and int(numbers[1].split()[-1]) == inside:
                    return int(child)
        except OSError:
            pass
        return None

    def session(self) -> Session:
        """Start an agent in this process's network; it ends with the session."""
        from delaylab.agent.local_session import local_session  # noqa: PLC0415  few verbs ask an agent

        return local_session()

    def prepare(self, name: str) -> SweepResult:
        """Check the run directory, sweep it, and check that no lab of this name is up."""
        return registry.prepare(name)

    def folder(self, lab: str) -> PurePosixPath:
        """Return the folder of a lab."""
        return PurePosixPath(registry.run_directory() / lab)

    def access(self, lab: str, built: BuildDone) -> registry.LocalAccess:
        """Return the way to a lab that has just been built here."""
        return registry.LocalAccess(TrustedDirectory.open(Path(self.folder(lab))), built)

    def keeper(self, lab: str) -> Keeper:
        """Start a keeper for a lab, which ends with this process."""
        from delaylab.machines.local_keeper import LocalKeeper  # noqa: PLC0415  for new labs only

        return LocalKeeper(lab)

    def build(self, plan: Plan, record: LabRecord) -> tuple[DescribedLab, Keeper]:
        """Start a keeper that builds the lab into a folder of the run directory."""
        from delaylab.machines.local_keeper import build  # noqa: PLC0415  for new labs only

        folder = registry.run_directory() / plan.lab
        written = record.model_dump(mode="json")
        built, kept = build(plan, folder, written, rootless=not self.rights().root)
        return DescribedLab(plan.lab, self, self.access(plan.lab, built), record, built), kept

    def explained(self, error: DelaylabError) -> DelaylabError:
        """Return the error of an agent as the user sees it."""
        return DelaylabError(error.what, error.where, error.fix)

    def labs(self) -> list[DescribedLab]:
        """Return all labs of this user that are up; other entries are ignored."""
        return [
            DescribedLab(access.folder.path.name, self, access, record, access.keeper)
            for access, record in registry.running()
        ]

    def sweep(self) -> SweepResult:
        """Sweep the run directory."""
        return sweep(registry.run_directory())


def cpu_numbers(text: str) -> list[int]:
    """Return the CPUs of a list such as `0-3,8`; raise ValueError for what is none."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


LOCAL = LocalMachine()
