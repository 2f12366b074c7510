"""Parts of labs over several machines: their records, their machines, and why one is missing."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from delaylab.agent.result import AgentGone
from delaylab.agent.wire.sessions import BuildDone
from delaylab.io.printable import one_line
from delaylab.machines.connection import Connection
from delaylab.machines.local import LOCAL
from delaylab.machines.machine import DescribedLab, LabRecord, Machine
from delaylab.machines.reach import Reach
from delaylab.machines.ssh import SshMachine
from delaylab.spec.this_machine import LOCAL_MACHINE

UNKNOWN = ""
"""The `ssh` of a machine of which nobody here has said how it is reached."""


class PartFile(BaseModel):
    """A part of a lab: how its machine is reached, None for this one, and its keeper's answer.

    The answer is made of the plan for a part that was never reached from here: without processes.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    ssh: str | None
    sudo: bool = False
    cache: str | None = None
    built: BuildDone

    @property
    def reach(self) -> Reach | None:
        """Return how the machine is reached; None if it is this one."""
        return None if self.ssh is None else Reach(ssh=self.ssh, sudo=self.sudo, cache=self.cache)


def part_file(reach: Reach | None, built: BuildDone) -> PartFile:
    """Return the part of a lab on a machine, None for this one."""
    if reach is None:
        return PartFile(ssh=None, built=built)
    return PartFile(ssh=reach.ssh, sudo=reach.sudo, cache=reach.cache, built=built)


class ClusterFile(BaseModel):
    """The file of a lab over several machines, and those whose part was taken down already."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    record: LabRecord
    parts: dict[str, PartFile]
    ended: frozenset[str] = frozenset()


class PartGone(AgentGone):
    """A part of a lab that is not on its machine any more."""


class OtherMachine(AgentGone):
    """A name that ssh knows, but not for the machine that has the part of the lab."""


class UnknownMachine(SshMachine):
    """A machine of a lab of which nobody here has said how ssh reaches it."""

    def __init__(self, name: str) -> None:
        super().__init__(name, Reach(ssh=UNKNOWN))

    def begin(self) -> None:
        """Do nothing."""

    @property
    def connection(self) -> Connection:
        """Raise OtherMachine."""
        what = "it is not known here how ssh reaches it"
        raise OtherMachine(what, f"machine {self.name}", "delaylab ps --machine SSH")


def same_lab(machine: Machine, lab: DescribedLab, place: str) -> DescribedLab | None:
    """Return the part of a lab that is of the machine `place` in it, if this machine has that."""
    wanted = lab.name, lab.record.created, place
    for each in machine.labs():
        if (each.name, each.record.created, each.record.machine) == wanted:
            return each
    return None


def machine_of(file: ClusterFile, place: str, reach: Reach | None) -> Machine:
    """Return the machine of a part of a lab."""
    if reach is None:
        return LOCAL
    name = place
    if place == LOCAL_MACHINE:
        # The machine that started the lab, of which another one has learnt.
        about = file.record.machines.get(place)
        name = one_line(about.host) if about is not None and about.host else "starter"
        while name in file.parts:
            name += "'"
    return UnknownMachine(name) if reach.ssh == UNKNOWN else SshMachine(name, reach)
