"""Labs over several machines, as this machine knows them by their files (`cluster_files`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from pydantic import ValidationError

from delaylab.agent.result import AgentGone
from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import BuildDone
from delaylab.errors import BadInput, DelaylabError
from delaylab.io.side_by_side import side_by_side
from delaylab.machines import cluster_files
from delaylab.machines.identity import identity
from delaylab.machines.lab_parts import (
    ClusterFile,
    OtherMachine,
    PartFile,
    PartGone,
    machine_of,
    same_lab,
)
from delaylab.machines.local import LOCAL
from delaylab.machines.machine import DescribedLab, Machine
from delaylab.machines.ssh import SshMachine

MOST_NAMED = 3
"""The most machines that a message names."""


@dataclass(frozen=True)
class PartEnd:
    """The outcome of taking down a part of a lab; `left` is the reason if it is still up."""

    said: str = "taken down"
    left: DelaylabError | None = None


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

        def names(machine: str) -> list[str]:
            try:
                return self._lab.part(machine).access.names()
            except DelaylabError:
                return []

        found = side_by_side(names, self._lab.machines)
        return sorted({name for part in found for name in part})

    def connect(self, agent: str) -> Session:
        """Open a session with an agent; raise AgentGone if there is none."""
        return self._lab.part(self._lab.place_of(agent)).access.connect(agent)

    def stop(self) -> None:
        """Take down the parts on all machines that can be reached, and forget the lab."""
        self._lab.take_down()


class ClusterLab(DescribedLab):
    """A lab over several machines, which are connected when they are first needed."""

    def __init__(
        self, name: str, file: ClusterFile, known: Mapping[str, Machine] | None = None
    ) -> None:
        agents = {agent: one for part in file.parts.values() for agent, one in _agents(part)}
        first = next(iter(file.parts.values())).built
        warnings = [
            f"machine {name}: {text}" for name, part in file.parts.items() for text in _notes(part)
        ]
        joint = BuildDone(pid=first.pid, start=first.start, agents=agents, warnings=warnings)
        super().__init__(name, LOCAL, ClusterAccess(self), file.record, joint)
        self.file = file
        self._machines: dict[str, Machine] = {
            place: machine_of(file, place, part.reach) for place, part in file.parts.items()
        }
        self._machines.update(known or {})
        self._place_of = {
            agent: place for place, part in file.parts.items() for agent in part.built.agents
        }
        self._parts: dict[str, DescribedLab] = {}

    @property
    def machines(self) -> list[str]:
        """Return the names of the machines that have a part of the lab."""
        return [name for name in self.file.parts if name not in self.file.ended]

    @property
    def places(self) -> Mapping[str, Machine]:
        """Return the machines that carry the lab, by their names in it."""
        return self._machines

    @cached_property
    def lost(self) -> dict[str, DelaylabError]:
        """Return why parts of the lab cannot be reached, by the names of their machines in it."""
        self._begin()

        def why(name: str) -> DelaylabError | None:
            try:
                self.part(name)
            except DelaylabError as error:
                return error
            return None

        reasons = side_by_side(why, self._machines)
        found = zip(self._machines, reasons, strict=True)
        return {name: error for name, error in found if error is not None}

    @property
    def unreachable(self) -> dict[str, str]:
        """Return the machines whose part of the lab cannot be reached, each with the reason."""
        return {self._machines[name].name: error.what for name, error in self.lost.items()}

    def why_not_whole(self) -> DelaylabError | None:
        """Return why the lab is not up as a whole, with the command to use now; None if it is."""
        where = f"lab {self.name}"
        left = {name: error for name, error in self.lost.items() if name not in self.file.ended}
        why = _few(f"on {self._machines[name].name}: {e.what}" for name, e in left.items())
        if self.file.ended:
            done = ", ".join(self._machines[name].name for name in sorted(self.file.ended))
            still = why or f"on {', '.join(self._machines[name].name for name in self.machines)}"
            return DelaylabError(f"was taken down on {done}, not {still}", where, self._out(left))
        if not left:
            return None
        if all(isinstance(error, PartGone) for error in left.values()):
            again = f"delaylab down {self.name} takes down the rest; then up again"
        else:
            again = self._out(left)
        return DelaylabError(f"is up, but not {why}", where, again)

    def has_ended(self) -> bool:
        """Return True if every machine answers that the lab has ended there."""
        return all(isinstance(self.lost.get(name), PartGone) for name in self._machines)

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
        for place, part in self.file.parts.items():
            machine = self._machines[place]
            access = machine.access(self.name, part.built)
            record = self.record
            self._parts[place] = DescribedLab(self.name, machine, access, record, part.built)

    def part(self, place: str) -> DescribedLab:
        """Return the part of the lab on a machine; raise DelaylabError if it is not there."""
        machine = self._machines[place]
        if place in self.file.ended:
            raise PartGone("the lab was taken down there", f"machine {machine.name}")
        if place not in self._parts:
            found = same_lab(machine, self, place)
            if found is None:
                raise self._gone(place)
            self._parts[place] = found
        return self._parts[place]

    def _gone(self, place: str) -> AgentGone:
        """Return why a machine that answers has no part of the lab."""
        machine, part = self._machines[place], self.file.parts[place]
        before = self.record.machines.get(place)
        now = identity(machine.session(), part.reach)
        where = f"machine {machine.name}"
        if before is not None and before.differs(now):
            what = f"ssh's {part.ssh!r} is another machine than the one with this part of the lab"
            return OtherMachine(what, where, "delaylab ps --machine SSH")
        if before is not None and before.has_restarted(now):
            return PartGone("it has restarted, and the lab has ended there", where)
        return PartGone("the lab has ended there", where)

    def take_down(self, forgotten: Collection[str] = ()) -> dict[str, str]:
        """Take down the parts on all machines that can be reached, and forget the lab.

        Parts on `forgotten` machines are given up if these cannot be reached. Return what happened
        on each machine. Raises DelaylabError with the machines on which a part is left; the lab is
        known until none is left.
        """
        given_up = {self._place(name) for name in forgotten}
        machines = self.machines
        self._begin()
        ends = dict(zip(machines, side_by_side(self._end, machines), strict=True))
        left: dict[str, DelaylabError] = {}
        for place, end in ends.items():
            if end.left is not None and place in given_up:
                ends[place] = PartEnd(self._given_up(place, end.left))
            elif end.left is not None:
                left[place] = end.left
        ended = [place for place in machines if place not in left]
        said = {self._machines[place].name: ends[place].said for place in ended}
        if left:
            self._note_ended(ended)
            done = [f"{text} on {name}" for name, text in said.items()]
            why = _few(f"{self._machines[name].name}: {e.what}" for name, e in left.items())
            what = "; ".join([_few(done), f"its part is still on {why}"][not done :])
            raise DelaylabError(what, f"lab {self.name}", self._out(left))
        cluster_files.forget(self.name)
        return said

    def _begin(self) -> None:
        """Begin to connect to all machines, so that they are waited for at once."""
        for name in self.machines:
            machine = self._machines[name]
            if isinstance(machine, SshMachine):
                with suppress(DelaylabError):
                    machine.begin()

    def _place(self, name: str) -> str:
        """Return a machine's name in the lab by that, its own name, or ssh's."""
        for place, part in self.file.parts.items():
            if name in (place, self._machines[place].name, part.ssh):
                return place
        known = ", ".join(self.file.parts)
        raise BadInput(f"lab {self.name!r} has no machine {name!r}", fix=f"one of: {known}")

    def _end(self, place: str) -> PartEnd:
        """Take down the part on a machine; one that has ended already is swept up."""
        try:
            try:
                self.part(place).access.stop()
            except PartGone as gone:
                self._machines[place].sweep()
                return PartEnd(gone.what)
        except DelaylabError as error:
            return PartEnd(left=error)
        return PartEnd()

    def _given_up(self, place: str, why: DelaylabError) -> str:
        reach = self.file.parts[place].reach
        option = reach.option if reach is not None and reach.ssh else "--machine SSH"
        return (
            f"given up: {why.what}. What it has of the lab stays there until it restarts, "
            f"or until: delaylab down {self.name} {option}"
        )

    def _out(self, left: Mapping[str, DelaylabError]) -> str:
        """Return the command that takes down what is left of the lab, and how to give it up."""
        down = f"delaylab down {self.name}"
        lost = {name for name, error in left.items() if not isinstance(error, PartGone)}
        if not lost:
            return down
        # What was never reached from here may have another name for this user's ssh.
        unnamed = any(
            isinstance(left[name], OtherMachine) or not self.file.parts[name].built.pid
            for name in lost
        )
        found = (
            f"{down} --machine SSH, as ssh reaches it here"
            if unnamed
            else f"once it is back: {down}"
        )
        names = [self._machines[name].name for name in sorted(lost)]
        forget = " ".join(f"--forget {name}" for name in names[:MOST_NAMED])
        forget += " …" if len(names) > MOST_NAMED else ""
        return f"{found}; if it never comes back: {down} {forget}"

    def ssh(self, agent: str) -> str | None:
        """Return how the machine of an agent is reached; None if it is this one."""
        reach = self.file.parts[self.place_of(agent)].reach
        return None if reach is None else reach.words

    def _note_ended(self, places: Iterable[str]) -> None:
        """Remember that the parts on these machines were taken down."""
        ended = self.file.ended.union(places)
        self.file = self.file.model_copy(update={"ended": ended})
        remember(self.name, self.file)


def _few(parts: Iterable[str]) -> str:
    """Return what is said of some machines, of many only the first."""
    each = list(parts)
    more = len(each) - MOST_NAMED
    return "; ".join(each[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


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
