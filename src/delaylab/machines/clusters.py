"""Labs over several machines, as this machine knows them by their files (`cluster_files`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

from delaylab.agent.replies import Built
from delaylab.agent.result import AgentGone
from delaylab.agent.session import Session
from delaylab.errors import BadInput, DelaylabError
from delaylab.machines import cluster_files, registry
from delaylab.machines.local import LOCAL
from delaylab.machines.machine import LabRecord, Machine, OtherVersion, RunningLab
from delaylab.machines.ssh import SshMachine


class PartFile(BaseModel):
    """A part of a lab: how its machine is reached, None for this one, and its keeper's answer."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    ssh: str | None
    built: Built


class ClusterFile(BaseModel):
    """The file of a lab over several machines, and those whose part was taken down already."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    record: LabRecord
    parts: dict[str, PartFile]
    ended: frozenset[str] = frozenset()


class PartGone(AgentGone):
    """A part of a lab that is not on its machine any more."""


class ClusterAccess:
    """The way to the processes of a lab over several machines."""

    def __init__(self, lab: ClusterLab) -> None:
        self._lab = lab

    @property
    def path(self) -> PurePosixPath:
        """Return the path of the lab's folder on this machine, if it has a part here."""
        return LOCAL.folder(self._lab.name)

    def folder_of(self, agent: str) -> PurePosixPath:
        """Return the path of the lab's folder on the machine of an agent."""
        return self._lab.machine_of(agent).folder(self._lab.name)

    def names(self) -> list[str]:
        """Return the names of what is in the lab's folders; those of lost machines are left out."""
        found: list[str] = []
        for machine in self._lab.machines:
            with suppress(DelaylabError):
                found += self._lab.part(machine).access.names()
        return sorted(set(found))

    def connect(self, agent: str) -> Session:
        """Open a session with an agent; raise AgentGone if there is none."""
        return self._lab.part(self._lab.place_of(agent)).access.connect(agent)

    def stop(self) -> None:
        """Take down the parts on all machines that can be reached, and forget the lab.

        Raises DelaylabError with the machines on which a part is left; the lab is known until none
        is left.
        """
        machines = self._lab.machines
        # A thread for each: every one waits for its machine alone.
        with ThreadPoolExecutor(len(machines)) as side_by_side:
            ended = side_by_side.map(self._why_left, machines)
            left = {
                machine: error
                for machine, error in zip(machines, ended, strict=True)
                if error is not None
            }
        if left:
            self._lab.note_ended(each for each in machines if each not in left)
            why = "; ".join(f"{name}: {error.what}" for name, error in left.items())
            again = f"once it is back: delaylab down {self._lab.name}"
            raise DelaylabError(f"its part is still on {why}", f"lab {self._lab.name}", again)
        cluster_files.forget(self._lab.name)

    def _why_left(self, machine: str) -> DelaylabError | None:
        """Take down the part on a machine; return why it is left there, or None."""
        try:
            self._lab.end_part(machine)
        except DelaylabError as error:
            return error
        return None


class ClusterLab(RunningLab):
    """A lab over several machines, which are connected when they are first needed."""

    def __init__(
        self, name: str, file: ClusterFile, known: Mapping[str, Machine] | None = None
    ) -> None:
        agents = {agent: one for part in file.parts.values() for agent, one in _agents(part)}
        first = next(iter(file.parts.values())).built
        warnings = [
            f"machine {name}: {text}" for name, part in file.parts.items() for text in _notes(part)
        ]
        joint = Built(pid=first.pid, start=first.start, agents=agents, warnings=warnings)
        super().__init__(name, LOCAL, ClusterAccess(self), file.record, joint)
        self._file = file
        self._machines: dict[str, Machine] = {
            place: LOCAL if part.ssh is None else SshMachine(place, part.ssh)
            for place, part in file.parts.items()
        }
        self._machines.update(known or {})
        self._place_of = {
            agent: place for place, part in file.parts.items() for agent in part.built.agents
        }
        self._parts: dict[str, RunningLab] = {}

    @property
    def machines(self) -> list[str]:
        """Return the names of the machines that have a part of the lab."""
        return [name for name in self._file.parts if name not in self._file.ended]

    @property
    def places(self) -> Mapping[str, Machine]:
        """Return the machines that carry the lab, by their names in it."""
        return self._machines

    @cached_property
    def unreachable(self) -> dict[str, str]:
        """Return the machines whose part of the lab cannot be reached, each with the reason."""
        for name in self.machines:
            machine = self._machines[name]
            if isinstance(machine, SshMachine):
                with suppress(DelaylabError):
                    machine.begin()
        found: dict[str, str] = {}
        for name in self._machines:
            try:
                self.part(name)
            except DelaylabError as error:
                found[name] = error.what
        return found

    def place_of(self, agent: str) -> str:
        """Return the name of the machine of an agent; BadInput if the lab has none of this name."""
        if agent not in self._place_of:
            raise BadInput(f"lab {self.name!r} has no agent {agent!r}")
        return self._place_of[agent]

    def machine_of(self, agent: str) -> Machine:
        """Return the machine of an agent."""
        return self._machines[self.place_of(agent)]

    def know_parts(self) -> None:
        """Take the parts on all machines as they were built just now, without asking for them."""
        for place, part in self._file.parts.items():
            machine = self._machines[place]
            access = machine.access(self.name, part.built)
            record = self.record
            self._parts[place] = RunningLab(self.name, machine, access, record, part.built)

    def part(self, place: str) -> RunningLab:
        """Return the part of the lab on a machine; raise DelaylabError if it is not there."""
        if place in self._file.ended:
            raise PartGone("the lab was taken down there", f"machine {place}")
        if place not in self._parts:
            machine = self._machines[place]
            found = next((lab for lab in machine.labs() if lab.name == self.name), None)
            if found is None or found.record.created != self.record.created:
                raise PartGone("the lab has ended there", f"machine {place}")
            self._parts[place] = found
        return self._parts[place]

    def end_part(self, place: str) -> None:
        """Take down the part of the lab on a machine; one that has ended already is swept up."""
        try:
            self.part(place).access.stop()
        except PartGone:
            self._machines[place].sweep()

    def ssh(self, agent: str) -> str | None:
        """Return how the machine of an agent is reached; None if it is this one."""
        return self._file.parts[self.place_of(agent)].ssh

    def note_ended(self, places: Iterable[str]) -> None:
        """Remember that the parts on these machines were taken down."""
        ended = self._file.ended.union(places)
        self._file = self._file.model_copy(update={"ended": ended})
        remember(self.name, self._file)


def _agents(part: PartFile) -> list[tuple[str, object]]:
    return list(part.built.agents.items())


def _notes(part: PartFile) -> list[str]:
    return part.built.warnings


def remember(name: str, file: ClusterFile) -> None:
    """Write the file of a lab, as a whole or not at all."""
    cluster_files.write(name, file.model_dump_json())


def running() -> Iterator[ClusterLab]:
    """Yield the labs over several machines that this machine knows; what is not one is left out."""
    for name, text in cluster_files.read_all():
        with suppress(ValidationError):
            yield ClusterLab(name, ClusterFile.model_validate_json(text))


def adopt(target: str) -> list[str]:
    """Remember the labs of which a machine, reached by ssh, has a part; return their names.

    How the others are reached says the lab file. Raises DelaylabError if a machine of such a lab
    cannot be reached, or if the lab has a part on the machine that started it. Of a lab of another
    version, whose file cannot be read, only the part on this machine is known: to take it down.
    """
    first, found = SshMachine(target, target), []
    registry.make()
    for part in first.labs():
        if part.is_part and part.name not in {lab.name for lab in running()}:
            remember(part.name, _whole_or_part(part, target))
            found.append(part.name)
    return found


def _whole_or_part(part: RunningLab, target: str) -> ClusterFile:
    try:
        return _whole(part, target)
    except OtherVersion:
        own = PartFile(ssh=target, built=part.keeper)
        return ClusterFile(record=part.record, parts={str(part.record.machine): own})


def _whole(part: RunningLab, target: str) -> ClusterFile:
    """Return the file of the lab of a part that was found on a machine."""
    lab, own = part.spec, part.record.machine
    if any(host.machine is None for host in lab.hosts.values()):
        what = f"lab {part.name!r} has a part on the machine that started it"
        raise DelaylabError(what, fix="use it from there")
    parts: dict[str, PartFile] = {}
    for name in lab.machines_used:
        ssh = target if name == own else lab.machines[name].ssh
        parts[name] = PartFile(ssh=ssh, built=_same(part, SshMachine(name, ssh)).keeper)
    return ClusterFile(record=part.record, parts=parts)


def _same(part: RunningLab, machine: SshMachine) -> RunningLab:
    """Return the part that a machine has of the lab of another part."""
    for lab in machine.labs():
        if (lab.name, lab.record.created) == (part.name, part.record.created):
            return lab
    raise PartGone(f"has no part of lab {part.name!r} any more", f"machine {machine.name}")
