"""A machine that is reached by ssh: its facts and its labs, as its agent tells them."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING

from pydantic import ValidationError

from delaylab.agent.machine_requests import Labs, opening
from delaylab.agent.requests import R_co, Request
from delaylab.agent.result import AgentError, AgentGone
from delaylab.agent.session import Session
from delaylab.agent.wire.machines import (
    Child,
    DescribeMachine,
    DescribeMachineDone,
    EndLab,
    LabFiles,
    Processes,
    Sweep,
)
from delaylab.agent.wire.sessions import BuildDone, Exec, Hello
from delaylab.errors import DelaylabError, NotHere
from delaylab.machines.building import LabPart, build_all
from delaylab.machines.connection import Connection
from delaylab.machines.identity import MachineIdentity, identity_by
from delaylab.machines.keeper import Keeper
from delaylab.machines.lab_json import LabJson
from delaylab.machines.local import cpu_numbers
from delaylab.machines.machine import ControlGroup, DescribedLab, LabRecord, Machine
from delaylab.machines.other_clock import OtherClock
from delaylab.machines.reach import Reach
from delaylab.machines.registry import STOP_DEADLINE_S
from delaylab.machines.sweep import Remains, SweepResult
from delaylab.progress import Progress

if TYPE_CHECKING:
    from delaylab.plan.kind import Rights
    from delaylab.plan.model import Plan
    from delaylab.records.machine import MachineRecord
    from delaylab.spec.machine import MachineSpec

ANSWER_S = 30.0
NO_PROGRAM = 127
"""The exit code of env(1) if it does not find the program."""


class SshMachine(Machine):
    """A machine that is reached by ssh, connected when it is first asked."""

    def __init__(self, name: str, reach: Reach) -> None:
        self._name, self.reach, self.target = name, reach, reach.ssh
        self._connection: Connection | None = None
        self._greeted = False
        self._failure: DelaylabError | None = None

    @property
    def name(self) -> str:
        """Return its name in the lab."""
        return self._name

    @property
    def words(self) -> str:
        """Return what a sentence calls it."""
        return f"machine {self.name}"

    def begin(self) -> None:
        """Start to connect, unless it is connected; `connection` waits for the end of it."""
        if self._connection is None:
            self._connection = Connection(self.name, self.reach)

    @property
    def connection(self) -> Connection:
        """Return the connection; raise Unreachable or NotHere if there can be none.

        What failed once is not tried again: a lab has many agents on a machine.
        """
        if self._failure is not None:
            raise self._failure
        self.begin()
        assert self._connection is not None
        if not self._greeted:
            try:
                self._connection.greet()
            except DelaylabError as error:
                self._connection, self._failure = None, error
                raise
            self._greeted = True
        return self._connection

    def is_cut_off(self) -> bool:
        """Return True if the connection to the machine has ended, though nobody ended it here."""
        return self._greeted and self._connection is not None and self._connection.has_ended()

    def close(self) -> None:
        """End the connection; the next question connects anew."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._greeted = None, False

    def ask(self, request: Request[R_co], timeout_s: float | None = None) -> R_co:
        """Return the machine's answer; raise Unreachable if the connection ends."""
        session = self.session()
        try:
            return session.call(request, ANSWER_S if timeout_s is None else timeout_s).done
        except AgentError as error:
            raise self.explained(error) from None
        finally:
            session.close()

    @cached_property
    def facts(self) -> DescribeMachineDone:
        """Return what the machine says of itself."""
        from delaylab.plan.kind import DEVICES, PACKAGES  # noqa: PLC0415  loads what plans are of

        return self.ask(DescribeMachine(programs=sorted(PACKAGES), devices=DEVICES))

    def identity(self) -> MachineIdentity:
        """Return which machine it is, as it said when its facts were first asked for."""
        return identity_by(self.facts, self.reach)

    def clock(self) -> OtherClock:
        """Return its clock, compared over a session of its own."""
        return OtherClock(self.session())

    def lacking(self, programs: Collection[str]) -> set[str]:
        """Return which of these programs it does not have, of those that its answer names."""
        return set(self.ask(DescribeMachine(programs=sorted(programs))).lacking) & set(programs)

    def output(self, argv: Sequence[str], limit_s: float) -> str | None:
        """Return what a program prints there in the C locale; None if it is not installed."""
        session = self.session()
        try:
            result = session.call(Exec(argv=["env", "LC_ALL=C", *argv]), limit_s)
        except AgentError as error:
            raise self.explained(error) from None
        finally:
            session.close()
        if result.done.exit == NO_PROGRAM:
            return None
        return result.stdout.decode(errors="replace")

    def rights(self) -> Rights:
        """Return what this user may do there, and the programs and devices that are missing."""
        from delaylab.plan.kind import Rights  # noqa: PLC0415  loads what plans are of
        from delaylab.spec.capabilities import ALL_CAPABILITIES  # noqa: PLC0415

        root = self.facts.user == 0
        try:
            bits = int(self.facts.capabilities, 16)
        except ValueError:
            raise DelaylabError("sent malformed capabilities", f"machine {self.name}") from None
        names = (name for number, name in enumerate(ALL_CAPABILITIES) if bits >> number & 1)
        return Rights(
            root,
            frozenset(self.facts.lacking),
            capabilities=frozenset(names if root else ALL_CAPABILITIES),
            amx="amx_tile" in self.facts.cpu.split(),
        )

    def describe(self) -> MachineRecord:
        """Return its description, as a study records it."""
        from delaylab.records.machine import MachineRecord  # noqa: PLC0415
        from delaylab.version import VERSION  # noqa: PLC0415

        hello = self.ask(Hello())
        model = re.search(r"^model name\s*:\s*(.+)$", self.facts.cpu, re.MULTILINE)
        return MachineRecord(
            hostname=self.facts.hostname,
            kernel=self.facts.kernel,
            cpu=model[1].strip() if model else platform.machine(),
            cores=len(self.cpus()),
            memory_bytes=self.facts.memory_bytes,
            python=platform.python_version(),
            delaylab=VERSION,
            agent=hello.version,
            clock=hello.clock,
        )

    def cpus(self) -> list[int]:
        """Return the numbers of the CPUs that run, in order."""
        try:
            return cpu_numbers(self.facts.cpus)
        except ValueError:
            raise DelaylabError("sent a malformed list of CPUs", f"machine {self.name}") from None

    def available_bytes(self) -> int:
        """Return the bytes of memory that new programs can use without swapping."""
        return self.ask(DescribeMachine()).available_bytes

    def free_bytes(self, path: PurePath) -> int:
        """Return the bytes that this user may still write to its run directory."""
        return self.ask(DescribeMachine()).free_bytes

    def most_neighbours(self) -> int | None:
        """Return how many neighbours its kernel keeps for all networks; None if it does not say."""
        return self.facts.most_neighbours

    def kernel_parts(self) -> dict[str, str | None]:
        """Return the parts of its kernel that links can use: each with None, or why it is missing.

        Raises DelaylabError if that cannot be tried.
        """
        session = self.session()
        try:
            tried = session.call(Exec(argv=["/proc/self/exe", "kernel"]))
            if tried.done.exit != 0:
                why = tried.stderr.decode(errors="replace").strip()
                raise DelaylabError(why, f"machine {self.name}")
            parts = json.loads(tried.stdout)
        except ValueError:
            raise DelaylabError("sent malformed parts", f"machine {self.name}") from None
        finally:
            session.close()
        return {
            str(name): None if why is None else str(why)
            for name, why in (parts.items() if isinstance(parts, dict) else ())
        }

    def put(self, path: Path, progress: Progress) -> PurePosixPath:
        """Return the path there of a file or folder of this machine, sent unless it is there."""
        from delaylab.machines.ssh_guests import put  # noqa: PLC0415  few labs have guests there

        return put(self, path, progress)

    def why_no_kvm(self, progress: Progress) -> str | None:
        """Return why virtual machines cannot run on KVM there, None if they can."""
        from delaylab.machines.ssh_guests import why_no_kvm  # noqa: PLC0415  see `put`

        return why_no_kvm(self, progress)

    def control_group(self, folders: Mapping[str, str]) -> ControlGroup:
        """Refuse: the accounts of control groups are not read over ssh."""
        raise NotHere(
            "its control groups cannot be read from here",
            f"machine {self.name}",
            "measure on this machine",
        )

    def started_at(self, pid: int) -> int | None:
        """Return a process's start in clock ticks since boot; None if there is no such process."""
        return self.starts([pid])[0]

    def starts(self, pids: Sequence[int]) -> list[int | None]:
        """Return the start of each process, as `started_at` does."""
        found = self.ask(Processes(pids=pids)).started
        if len(found) != len(pids):
            raise DelaylabError("sent another number of processes", f"machine {self.name}")
        return list(found)

    def child(self, parent: int, inside: int) -> int | None:
        """Return the pid of a process's child that a PID namespace below numbers `inside`."""
        found = self.ask(Processes(children=[Child(parent, inside)])).children
        return found[0] if found else None

    def session(self) -> Session:
        """Start an agent outside of all labs; it ends with the session."""
        return self.connection.open(opening(), f"machine {self.name}")

    def prepare(self, name: str) -> SweepResult:
        """Check that a lab of this name can start; return what a sweep could not remove."""
        left = self.sweep()
        if name in {lab.name for lab in self.labs()}:
            fix = f"delaylab down {name} {self.reach.option}"
            raise DelaylabError(f"lab {name!r} is up there already", f"machine {self.name}", fix)
        return left

    def folder(self, lab: str) -> PurePosixPath:
        """Return the folder of a lab."""
        return PurePosixPath(self.facts.run_directory) / lab

    def access(self, lab: str, built: BuildDone) -> SshAccess:
        """Return the way to a lab that has just been built there."""
        return SshAccess(self, lab)

    def keeper(self, lab: str) -> Keeper:
        """Start a keeper for a lab, which ends with the connection."""
        session = self.connection.open(opening(keeper=True), f"lab {lab} on machine {self.name}")
        return RemoteKeeper(session, self, lab)

    def build(self, plan: Plan, record: LabRecord) -> tuple[DescribedLab, Keeper]:
        """Carry out a plan completely; return the lab and its keeper, which ends with this process.

        On failure undo all of it and raise DelaylabError.
        """
        (built,), kept = build_all([LabPart(self, plan, record)])
        return DescribedLab(plan.lab, self, self.access(plan.lab, built), record, built), kept

    def explained(self, error: DelaylabError) -> DelaylabError:
        """Return the error of an agent there as the user sees it."""
        if not isinstance(error, AgentError):
            return error
        if isinstance(error, AgentGone) and self._connection is not None:
            return self._connection.lost()
        return DelaylabError(error.what, f"machine {self.name}", error.fix)

    def labs(self) -> list[DescribedLab]:
        """Return the labs of this user that are up there; what is not read as one is left out."""
        found = []
        for name, described in self.ask(Labs()).labs.items():
            try:
                lab = LabJson.model_validate(described)
            except ValidationError:
                continue  # of a version that writes it otherwise
            access = SshAccess(self, name)
            found.append(DescribedLab(name, self, access, lab.record, lab.keeper))
        return found

    def sweep(self) -> SweepResult:
        """Remove what killed keepers left; running labs and what is no lab are left alone."""
        left = self.ask(Sweep())
        # Its facts are asked for only if something is left: the agent opens /dev/net/tun for them,
        # and to close it waits for rtnetlink's lock, which the kernel holds for seconds while it
        # removes the interfaces of a large lab.
        failed = (
            Remains(one.name, Path(self.facts.run_directory) / one.name, one.why)
            for one in left.failed
        )
        return SweepResult(tuple(left.foreign), tuple(failed))


def reach_of(spec: MachineSpec) -> Reach:
    """Return how a machine of a lab file is reached."""
    return Reach(ssh=spec.ssh, sudo=spec.sudo, cache=spec.cache)


@dataclass(frozen=True)
class SshAccess:
    """The way to a running lab's processes on a machine that is reached by ssh."""

    machine: SshMachine
    lab: str

    @property
    def path(self) -> PurePosixPath:
        """Return the path of the lab's folder there."""
        return self.machine.folder(self.lab)

    def folder_of(self, agent: str) -> PurePosixPath:
        """Return the path of the lab's folder on the machine of an agent."""
        return self.path

    def names(self) -> list[str]:
        """Return the names of what is in the lab's folder."""
        return self.machine.ask(LabFiles(lab=self.lab)).names

    def connect(self, agent: str) -> Session:
        """Open a session with an agent; that there is none shows when it is used."""
        return self.machine.connection.open(opening(self.lab, agent), agent)

    def stop(self) -> None:
        """Take the lab down and wait until it is gone, and remove what is left."""
        self.machine.ask(EndLab(lab=self.lab), 2 * STOP_DEADLINE_S + ANSWER_S)
        self.machine.sweep()


class RemoteKeeper(Keeper):
    """The keeper of a lab on a machine that is reached by ssh."""

    def __init__(self, session: Session, machine: SshMachine, lab: str) -> None:
        self.session, self._machine, self._lab = session, machine, lab

    def keep(self) -> None:
        """Keep the lab from now on, until it is taken down.

        Returns once the order has reached the keeper: the connection may then end.
        """
        self.session.keep()
        self.session.close()
        # The answer comes over the same stream, after the order has left it; it is an error if the
        # lab has ended.
        self._machine.ask(LabFiles(lab=self._lab))

    def release(self) -> None:
        """End the lab, and wait until it is gone or the machine is."""
        try:
            self.session.stop()
            self.session.await_end(STOP_DEADLINE_S + ANSWER_S)
        except AgentError:
            pass  # it is gone, or ends with the connection
        self.session.close()
