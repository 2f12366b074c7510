"""Files of this machine for guests on a machine that is reached by ssh, and a trial of KVM there.

A file is sent once for each content, over the connection that carries all sessions. It is stored in
the folder of delaylab's cache there, whole or not at all (`machine/store.rs` of `crates/agent`).
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path, PurePosixPath
from typing import Protocol

from delaylab import images
from delaylab.agent.failures import failed_command
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.requests import R_co, Request
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.wire.machines import DescribeMachineDone, Stored
from delaylab.agent.wire.sessions import Exec
from delaylab.errors import BadInput, DelaylabError
from delaylab.images import kvm
from delaylab.images.cache import digest
from delaylab.images.kvm import Probed
from delaylab.io.printable import one_line
from delaylab.machines import archive
from delaylab.machines.machine import Machine
from delaylab.plan.kind import KVM
from delaylab.progress import Progress

AGENT = "/proc/self/exe"
SILENT_S = 300.0
"""Seconds that the machine may take no bytes: another command may be sending the same file."""
STORED_S = 300.0
"""Seconds that the machine may take to write what it has got to its disk."""
OWN_NAME = "file"
MOST_SAID = 1 << 20
"""The most bytes of a trial guest's console that are kept."""
"""The name there of a user's own file: its own may have characters that commands give a meaning."""


class Reached(Machine, Protocol):
    """A machine that is reached by ssh, as far as its guests need it."""

    target: str

    @property
    def facts(self) -> DescribeMachineDone:
        """Return what the machine says of itself."""

    def ask(self, request: Request[R_co], timeout_s: float | None = None) -> R_co:
        """Return the machine's answer."""


def put(machine: Reached, path: Path, progress: Progress) -> PurePosixPath:
    """Return the path on a machine of a file or folder of this one, sent unless it is there.

    Raises DelaylabError if it cannot be read here or stored there.
    """
    name = images.name_in_cache(path) or f"own-{_content(path)}/{OWN_NAME}"
    answer = machine.ask(Stored(names=[name]))
    if answer.missing:
        _send(machine, path, name, progress)
    return PurePosixPath(answer.folder) / name


def why_no_kvm(machine: Reached, progress: Progress) -> str | None:
    """Return why virtual machines cannot run on KVM on a machine, None if they can.

    A guest is booted there once per boot of the machine.
    """
    rights = machine.rights()
    if KVM in rights.lacking:
        return f"{KVM} cannot be used"
    # A hash, since a machine may say anything of itself, and this is the name of a file here.
    name = digest([machine.target, machine.facts.identity, machine.facts.user])
    return kvm.kept(name, lambda: _boot(machine, progress)).reason


def _content(path: Path) -> str:
    """Return the hash of a file or folder, of names, owners and modes in it, too."""
    found = _Hash()
    try:
        archive.write(path, found)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", str(path)) from None
    return found.sum.hexdigest()[:32]


class _Hash:
    def __init__(self) -> None:
        self.sum = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.sum.update(data)
        return len(data)


class _CommandInput:
    """The input of a command on a machine, as a file to write to."""

    def __init__(self, session: Session, path: Path, what: str, progress: Progress) -> None:
        self._session, self._what, self._progress = session, what, progress
        self._sent, self._whole = 0, max(archive.size_bytes(path), 1)

    def write(self, data: bytes) -> int:
        self._progress(self._what, min(self._sent / self._whole, 1))
        self._session.stdin(bytes(data), time.monotonic() + SILENT_S)
        self._sent += len(data)
        return len(data)


def _send(machine: Reached, path: Path, name: str, progress: Progress) -> None:
    session, said = machine.session(), bytearray()

    def keep(frame: Frame) -> None:
        if frame.kind == FrameKind.STDERR:
            said[:] = (said + frame.payload)[-MOST_SAID:]

    session.on_output = keep
    try:
        result = session.start(Exec(argv=[AGENT, "store", name], stdin=True))
        archive.write(
            path, _CommandInput(session, path, f"sending {name} to {machine.name}", progress)
        )
        session.stdin(b"")
        session.finish(STORED_S)
        if result.done.exit != 0:
            told = said.decode(errors="replace") or result.done.how
            error = failed_command(told, f"machine {machine.name}")
            error.fix = "make room in ~/.cache/delaylab there"
            raise error
    except AgentError as error:
        raise machine.explained(error) from None
    except OSError as error:
        raise DelaylabError(f"cannot be read: {error.strerror}", str(path)) from None
    finally:
        session.close()


def _boot(machine: Reached, progress: Progress) -> Probed:
    """Boot a guest on KVM on a machine; return the outcome."""
    image = {
        word: put(machine, path, progress)
        for word, path in images.require("cloud", progress).items()
        if word in ("kernel", "initrd")
    }
    progress(f"trying KVM on {machine.name}", 0)
    session, said = machine.session(), bytearray()

    def keep(frame: Frame) -> None:
        said[:] = (said + frame.payload)[-MOST_SAID:]

    session.on_output = keep
    began_s = time.monotonic()
    try:
        session.start(Exec(argv=kvm.command(image, "stdio,id=agent")))
        while kvm.READY not in said:
            session.read_output(kvm.DEADLINE_S, began_s)
    except AgentError:
        pass  # it has ended, or the time is up
    finally:
        session.close()
    lines = [one_line(line) for line in said.decode(errors="replace").strip().splitlines()]
    return kvm.outcome(bytes(said), lines[-1:], time.monotonic() - began_s)
