"""Lab inside a virtual machine of a lab, whose kernel has modules that this machine's may lack."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.stream import Descriptors
from delaylab.agent.wire.sessions import Build, Exec
from delaylab.kinds import KINDS, Rights
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.plan.build import build
from delaylab.plan.kept import KeptPlan
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data

RUN = "/run/labs"
VM = "vm"
AGENT = "delaylab-agent"
CHUNK = 64 << 10
LAB_UP_S = 120


class Bed(Protocol):
    """A lab on this machine or in a guest: sessions with its agents, and its plan."""

    @property
    def plan(self) -> KeptPlan: ...

    def session(self, agent: str) -> Session: ...


class Machine:
    """A virtual machine of a lab, in which agents run."""

    def __init__(self, lab: LiveLab, node: str = VM) -> None:
        self._lab, self._node = lab, node

    def open(self, *argv: str) -> Session:
        """Open a session over the standard streams of a command in the machine."""
        outer = self._lab.node_session(self._node)
        outer.start(Exec(argv=argv, stdin=True))
        outer.event(30)
        ours, theirs = socket.socketpair()
        threading.Thread(target=_carry, args=(outer, theirs), daemon=True).start()
        return Session(" ".join(argv), Descriptors(ours.fileno(), ours.fileno(), ours.close))

    def run(self, *argv: str) -> str:
        """Run a command and return its output; AssertionError if it fails."""
        session = self._lab.node_session(self._node)
        result = session.call(Exec(argv=argv), timeout=120)
        session.close()
        assert result.done.exit == 0, (argv, result.done, result.stderr.decode())
        return result.stdout.decode()

    def load(self, *modules: str) -> None:
        """Load kernel modules that the image has, and the modules that they need."""
        index = json.loads(self.run("cat", "/lib/delaylab/modules.json"))
        loaded = {line.split()[0] for line in self.run("cat", "/proc/modules").splitlines()}
        for module in modules:
            for name in (*index[module]["needs"], module):
                if name not in loaded and index[name]["file"]:
                    self.run("insmod", f"/lib/delaylab/modules/{index[name]['file']}")
                    loaded.add(name)


class Inside:
    """A lab in a virtual machine."""

    def __init__(self, machine: Machine, spec: Lab) -> None:
        self._machine, self.plan = machine, build(spec, KINDS, Rights(root=True))
        self._fabric = machine.open(AGENT, "fabric")
        request = Build(
            lab=spec.name,
            dir=f"{RUN}/{spec.name}",
            rootless=False,
            record={},
            plan=self.plan,
        )
        self._agents = self._fabric.call(request, LAB_UP_S).done.agents

    def session(self, agent: str) -> Session:
        """Open a session with one of the lab's agents."""
        return self._machine.open(AGENT, "join", self._agents[agent].socket)

    def down(self) -> None:
        """Take the lab down, and wait until it is gone."""
        self._fabric.stop()
        self._fabric.close()
        self._machine.run("sh", "-c", f"while [ -e {RUN}/{self.plan.lab} ]; do sleep 0.05; done")


@contextmanager
def machine(modules: tuple[str, ...], *, vcpus: int = 2) -> Iterator[Machine]:
    """Start a machine with the distribution's kernel and these modules loaded."""
    node = {"kind": "qemu", "vcpus": vcpus, "memory": "384MiB"}
    spec = lab_from_data({"lab": "outer", "hosts": {"sut": {}}, "nodes": {VM: node}})
    with temporary(spec, accounting=False) as lab:
        inside = Machine(lab)
        inside.load(*modules)
        inside.run("mkdir", "-p", RUN)
        yield inside


@contextmanager
def lab_in(inside: Machine, spec: Lab) -> Iterator[Inside]:
    """Bring a lab up in the machine; take it down at the end."""
    lab = Inside(inside, spec)
    try:
        yield lab
    finally:
        lab.down()


def _carry(outer: Session, stream: socket.socket) -> None:
    """Carry bytes between a command's streams and a socket, until either ends."""

    def said(frame: Frame) -> None:
        if frame.kind == FrameKind.STDOUT:
            stream.sendall(frame.payload)

    outer.on_output = said
    poll = select.poll()
    for fd in (outer.fileno(), stream.fileno()):
        poll.register(fd, select.POLLIN)
    # Closing the stream tells its reader of the end, whether the machine or the reader is gone.
    with stream, suppress(AgentError, OSError):
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if outer.fileno() in ready and outer.poll_done():
                break
            if stream.fileno() in ready:
                data = stream.recv(CHUNK)
                outer.stdin(data)
                if not data:
                    poll.unregister(stream.fileno())
    outer.close()
