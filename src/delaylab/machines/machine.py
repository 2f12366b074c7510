"""The interface of a machine, a computer that runs labs or parts of them, and of a lab on it.

All that the rest of the project knows of a computer, its processes, its control groups and the labs
that run on it goes through this interface. `LocalMachine` is the one that this program runs on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from delaylab.errors import BadInput, DelaylabError
from delaylab.machines.identity import MachineIdentity
from delaylab.machines.keeper import Keeper
from delaylab.machines.sweep import SweepResult
from delaylab.progress import Progress
from delaylab.spec.this_machine import LOCAL_MACHINE

if TYPE_CHECKING:
    from delaylab.agent.session import Session
    from delaylab.agent.wire.sessions import BuildDone
    from delaylab.machines.other_clock import OtherClock
    from delaylab.plan.kept import KeptPlan
    from delaylab.plan.kind import Rights
    from delaylab.plan.model import Plan
    from delaylab.records.machine import MachineRecord
    from delaylab.resolve.lab import Lab


class LabRecord(BaseModel):
    """The part of a lab's record that `up` writes: its spec and plan, and when it was built.

    Spec and plan are JSON in a string each, so that only who needs one of them reads it. `created`
    is in seconds since the Unix epoch. `machine` is the name of the machine in a lab over several,
    of which this is one part; empty for a whole lab. `machines` are all of them, by these names.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    spec_json: str = ""
    plan_json: str = ""
    created: float = 0.0
    machine: str = ""
    machines: dict[str, MachineIdentity] = {}


class Access(Protocol):
    """The way to a running lab's processes and its folder."""

    @property
    def path(self) -> PurePosixPath:
        """Return the path of the lab's folder on its machine."""

    def folder_of(self, agent: str) -> PurePosixPath:
        """Return the path of the lab's folder on the machine of an agent."""

    def names(self) -> list[str]:
        """Return the names of what is in the lab's folder."""

    def connect(self, agent: str) -> Session:
        """Open a session with an agent; raise AgentGone if there is none."""

    def stop(self) -> None:
        """Take the lab down and wait until it is gone; a later sweep removes what is left."""


class OtherVersion(DelaylabError):
    """A lab whose record this version cannot read. It can be taken down."""


class DescribedLab:
    """A lab that is up, as its machine describes it. Its spec and plan are read when needed."""

    def __init__(
        self, name: str, machine: Machine, access: Access, record: LabRecord, keeper: BuildDone
    ) -> None:
        self.name, self.machine, self.access = name, machine, access
        self.record, self.keeper = record, keeper

    def machine_of(self, agent: str) -> Machine:
        """Return the machine of an agent."""
        return self.machine

    def ssh(self, agent: str) -> str | None:
        """Return how ssh reaches the machine of an agent; None if it is this one."""
        return None

    @property
    def is_part(self) -> bool:
        """Return True for the part of a lab over several machines that this machine carries."""
        return bool(self.record.machine)

    @property
    def places(self) -> Mapping[str, Machine]:
        """Return the machines that carry the lab, by their names in it."""
        return {self.machine.name: self.machine}

    @property
    def unreachable(self) -> dict[str, str]:
        """Return the machines whose part of the lab cannot be reached, each with the reason."""
        return {}

    def why_not_whole(self) -> DelaylabError | None:
        """Return why the lab is not up as a whole, with the command to use now; None if it is."""
        return None

    def has_ended(self) -> bool:
        """Return True if nothing is left of the lab on any of its machines."""
        return False

    def take_down(self, forgotten: Collection[str] = ()) -> dict[str, str]:
        """Take the lab down, but for its parts on machines that are forgotten if they are lost.

        Return what happened on each machine of a lab over several. Raises DelaylabError if a part
        is left, BadInput if a forgotten machine has no part of the lab.
        """
        if forgotten:
            what = f"lab {self.name!r} is on this machine alone"
            raise BadInput(what, fix=f"delaylab down {self.name}")
        self.access.stop()
        return {}

    @cached_property
    def spec(self) -> Lab:
        """Return the lab as its file describes it, resolved.

        Raises DelaylabError if another version wrote its record otherwise.
        """
        from delaylab.resolve.resolve import kept_lab  # noqa: PLC0415  most verbs need no spec

        try:
            return kept_lab(self.record.spec_json)
        except ValidationError:
            raise self._other_version() from None

    @cached_property
    def plan(self) -> KeptPlan:
        """Return the plan that the lab was built by; raise DelaylabError as for `spec`."""
        from delaylab.plan import kept  # noqa: PLC0415  `exec` and `down` need none

        try:
            return kept.read(self.record.plan_json)
        except ValidationError:
            raise self._other_version() from None

    def _other_version(self) -> OtherVersion:
        what = f"lab {self.name!r} was started by another version of delaylab"
        return OtherVersion(what, fix=f"delaylab down {self.name}")


class ControlGroup(Protocol):
    """The accounts of a control group and all below it. None: the kernel does not tell."""

    def cpu_s(self) -> float | None:
        """Return the CPU time that its processes used, in s."""

    def vcpus_s(self) -> float | None:
        """Return the part of it that threads took which are virtual CPUs, in s."""

    def memory_bytes(self) -> int:
        """Return its processes' memory, shared pages divided among those that share them."""


class Machine(Protocol):
    """A computer with the rights of one user on it."""

    @property
    def name(self) -> str:
        """Return its name in labs and studies, which no other machine of theirs has."""

    @property
    def words(self) -> str:
        """Return what a sentence calls it: `this machine`, `machine m2`."""

    def identity(self) -> MachineIdentity:
        """Ask which machine it is; raise DelaylabError if it does not answer."""

    def clock(self) -> OtherClock | None:
        """Return its clock, compared over a session of its own; None for the clock of this one."""

    def lacking(self, programs: Collection[str]) -> set[str]:
        """Return which of these programs it does not have, each a name in PATH or a path."""

    def output(self, argv: Sequence[str], limit_s: float) -> str | None:
        """Return what a program prints there in the C locale; None if it is not installed.

        Raises TooSlow or DelaylabError if it does not end within `limit_s`.
        """

    def rights(self) -> Rights:
        """Return what this user may do there, and the programs and devices that are missing."""

    def describe(self) -> MachineRecord:
        """Return its description, as a study records it."""

    def cpus(self) -> list[int]:
        """Return the numbers of the CPUs that run, in order."""

    def available_bytes(self) -> int:
        """Return the bytes of memory that new programs can use without swapping."""

    def free_bytes(self, path: PurePath) -> int:
        """Return the bytes that this user may still write to the file system of a path there."""

    def most_neighbours(self) -> int | None:
        """Return how many neighbours its kernel keeps for all networks; None if it does not say."""

    def kernel_parts(self) -> dict[str, str | None]:
        """Return the parts of its kernel that links can use: each with None, or why it is missing.

        Raises DelaylabError if that cannot be tried.
        """

    def put(self, path: Path, progress: Progress) -> PurePosixPath:
        """Return the path there of a file or folder of this machine, which is sent unless it is.

        Raises DelaylabError if it cannot be read here or stored there.
        """

    def why_no_kvm(self, progress: Progress) -> str | None:
        """Return why virtual machines cannot run on KVM there, None if they can."""

    def control_group(self, folders: Mapping[str, str]) -> ControlGroup:
        """Return a control group; `folders` maps controllers to its folders there."""

    def started_at(self, pid: int) -> int | None:
        """Return a process's start in clock ticks since boot; None if there is no such process."""

    def starts(self, pids: Sequence[int]) -> list[int | None]:
        """Return the start of each process, as `started_at` does."""

    def child(self, parent: int, inside: int) -> int | None:
        """Return the pid of a process's child that a PID namespace below numbers `inside`.

        Returns None if there is no such child.
        """

    def is_cut_off(self) -> bool:
        """Return True if the connection to the machine has ended, though nobody ended it here."""
        return False

    def session(self) -> Session:
        """Start an agent outside of all labs; it ends with the session."""

    def prepare(self, name: str) -> SweepResult:
        """Check that a lab of this name can start; return what a sweep could not remove.

        Raises DelaylabError if the lab is up already, NotHere if labs cannot be kept there.
        """

    def folder(self, lab: str) -> PurePosixPath:
        """Return the folder of a lab there."""

    def access(self, lab: str, built: BuildDone) -> Access:
        """Return the way to a lab that has just been built there."""

    def keeper(self, lab: str) -> Keeper:
        """Start a keeper for a lab there; without the order to keep it ends with this process.

        It waits for the request to build the lab.
        """

    def build(self, plan: Plan, record: LabRecord) -> tuple[DescribedLab, Keeper]:
        """Carry out a plan completely; return the lab and its keeper, which ends with this process.

        On failure undo all of it and raise DelaylabError.
        """

    def explained(self, error: DelaylabError) -> DelaylabError:
        """Return the error of an agent there as the user sees it."""

    def labs(self) -> list[DescribedLab]:
        """Return the labs of this user that are up there."""

    def sweep(self) -> SweepResult:
        """Remove what killed keepers left; running labs and what is no lab are left alone."""


def on(machine: str) -> str:
    """Return where something is, by its machine's name: ` on m2`, nothing for this machine."""
    return "" if machine == LOCAL_MACHINE else f" on {machine}"


def find(
    labs: Sequence[DescribedLab], name: str | None, fix: str = "say which: --lab NAME"
) -> DescribedLab:
    """Return one of the running labs by name; without a name the only one.

    Raises BadInput if there is none, or, with `fix`, if several are up and no name is given.
    """
    if name is None and len(labs) == 1:
        return labs[0]
    for lab in labs:
        if lab.name == name:
            return lab
    names = ", ".join(lab.name for lab in labs) or "none"
    if name is None and labs:
        raise BadInput(f"several labs are up: {names}", fix=fix)
    what = f"no lab {name!r} is up" if name else "no lab is up"
    raise BadInput(f"{what} (up: {names})", fix="delaylab up LAB.yaml")
