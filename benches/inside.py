"""A lab inside a virtual machine of a lab: its kernel has what this machine's may lack."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from delaylab.kinds import KINDS, Rights
from delaylab.lab import Lab, temporary
from delaylab.plan import Plan, build
from delaylab.spec import LabSpec
from delaylab.wireline import Frame, FrameKind, Session

RUN = "/run/labs"
VM = "vm"
AGENT = "delaylab-agent"
CHUNK = 64 << 10
LAB_UP_S = 120


class Bed(Protocol):
    """A lab, wherever it is: sessions with its agents, and how it was built."""

    plan: Plan

    def session(self, agent: str) -> Session: ...


class Machine:
    """A virtual machine of a lab, in which agents run."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def open(self, *argv: str) -> Session:
        """A session with what speaks the protocol on a command's standard streams in there."""
        outer = self._lab.node_session(VM)
        outer.start("exec", argv=list(argv), stdin=True)
        outer.event(30)
        ours, theirs = socket.socketpair()
        threading.Thread(target=_carry, args=(outer, theirs), daemon=True).start()
        return Session(" ".join(argv), ours.fileno(), ours.fileno(), ours.close)

    def run(self, *argv: str) -> str:
        """What a command says; AssertionError if it fails."""
        session = self._lab.node_session(VM)
        result = session.call("exec", argv=list(argv), timeout=120)
        session.close()
        assert result.done == {"exit": 0}, (argv, result.done, result.stderr.decode())
        return result.stdout.decode()

    def load(self, *modules: str) -> None:
        """Load kernel modules that the image has, and what they need before them."""
        index = json.loads(self.run("cat", "/lib/delaylab/modules.json"))
        loaded = {line.split()[0] for line in self.run("cat", "/proc/modules").splitlines()}
        for module in modules:
            for name in (*index[module]["needs"], module):
                if name not in loaded and index[name]["file"]:
                    self.run("insmod", f"/lib/delaylab/modules/{index[name]['file']}")
                    loaded.add(name)


class Inside:
    """A lab in a machine."""

    def __init__(self, machine: Machine, spec: LabSpec) -> None:
        self._machine, self.plan = machine, build(spec, KINDS, Rights(root=True))
        self._fabric = machine.open(AGENT, "fabric")
        request = {"lab": spec.lab, "dir": f"{RUN}/{spec.lab}", "linger": False, "record": None}
        plan = json.loads(json.dumps(self.plan.message(), default=vars))
        done = self._fabric.call("build", LAB_UP_S, **request, rootless=False, plan=plan).done
        self._agents = done["agents"]

    def session(self, agent: str) -> Session:
        """A session with one of its agents."""
        return self._machine.open(AGENT, "join", self._agents[agent]["socket"])

    def down(self) -> None:
        """End it, and wait until it is gone."""
        self._fabric.stop()
        self._fabric.close()
        self._machine.run("sh", "-c", f"while [ -e {RUN}/{self.plan.lab} ]; do sleep 0.05; done")


@contextmanager
def machine(modules: tuple[str, ...], *, vcpus: int = 2) -> Iterator[Machine]:
    """A machine with the distribution's kernel, these modules loaded."""
    node = {"kind": "qemu", "vcpus": vcpus, "memory": "384MiB"}
    spec = LabSpec.model_validate({"lab": "outer", "hosts": {"sut": {}}, "nodes": {VM: node}})
    with temporary(spec, accounting=False) as lab:
        inside = Machine(lab)
        inside.load(*modules)
        inside.run("mkdir", "-p", RUN)
        yield inside


@contextmanager
def lab_in(inside: Machine, spec: LabSpec) -> Iterator[Inside]:
    """A lab in there, down at the end."""
    lab = Inside(inside, spec)
    try:
        yield lab
    finally:
        lab.down()


def _carry(outer: Session, stream: socket.socket) -> None:
    """Carry bytes between a command's streams and ours, until either ends."""

    def said(frame: Frame) -> None:
        if frame.kind == FrameKind.STDOUT:
            stream.sendall(frame.payload)

    outer.on_output = said
    poll = select.poll()
    for fd in (outer.fileno(), stream.fileno()):
        poll.register(fd, select.POLLIN)
    with stream:
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if outer.fileno() in ready and outer.poll_done() is not None:
                break
            if stream.fileno() in ready:
                data = stream.recv(CHUNK)
                outer.stdin(data)
                if not data:
                    poll.unregister(stream.fileno())
    outer.close()
