"""Xen domains on a machine that is a dom0: the driver domain of an emulated Xen stands for one.

The plan is made out here, for a machine with those rights, and carried out in there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from delaylab.kinds import KINDS, Rights
from delaylab.lab import Lab, temporary
from delaylab.plan import Plan, build
from delaylab.spec import LabSpec
from delaylab.wireline import Decoder, Frame, FrameKind

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(1200)]

RUN = "/run/labs"
FILES = {
    "agent/program": "/sbin/delaylab-agent",
    "domain/kernel": "/lib/delaylab/domu-kernel",
    "domain/initrd": "/lib/delaylab/domu-initrd",
    "domain/start": "/run/domain/start",
    "domain/vif": "/run/domain/vif",
}
"""Where in the driver domain an image's files are, or are put."""
DELAY_MS = 100
LAB = LabSpec.model_validate(
    {
        "lab": "inner",
        "hosts": {"sut": {}, "target": {}},
        "nodes": {
            "dom": {"kind": "xen", "host": "sut"},
            "box": {"kind": "netns", "host": "sut"},
            "echo": {"kind": "netns", "host": "target"},
        },
        "links": [
            {"join": ["dom", "box", "echo"], "name": "lan"},
            {"between": ["dom", "box"], "name": "wan", "delay": f"{DELAY_MS}ms"},
        ],
    }
)
UP_S = 400
PATH = "PATH=/lib/delaylab/xen:/usr/sbin:/usr/bin:/sbin:/bin"


class Dom0:
    """The machine: commands in it, and a lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def run(self, *argv: str, stdin: bytes = b"", tty: object = None, code: int = 0) -> str:
        """What a command says, on either stream."""
        session, said = self.lab.session("xen.sut"), bytearray()
        session.on_output = lambda frame: said.extend(frame.payload)
        session.start("exec", argv=["env", PATH, *argv], stdin=True, tty=tty)
        if tty is None:
            for piece in (stdin, b""):
                session.stdin(piece)
        done = session.finish(120).done
        session.close()
        assert done == {"exit": code}, (argv, done, said.decode())
        return said.decode()

    def agent(self, name: str, *argv: str, code: int = 0) -> str:
        """What a command says that an agent of the lab runs."""
        screen = {"rows": 25, "cols": 200, "term": "dumb"}
        socket = f"{RUN}/{LAB.lab}/{name}.sock"
        words = ["delaylab-agent", "call", socket, "--stream", "0", "--", *argv]
        return self.run(*words, tty=screen, code=code)

    def domains(self) -> list[str]:
        """The names of domains beside this one."""
        lines = self.run("xl", "vm-list").splitlines()
        return [line.split()[2] for line in lines[1:] if not line.endswith("Domain-0")]

    def state(self) -> list[str]:
        """What a lab may leave behind: interfaces, logs, folders, domains."""
        return [self.run("ls", "/sys/class/net", "/var/log/xen", RUN), *self.domains()]


@pytest.fixture(scope="module")
def dom0(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dom0]:
    reason = KINDS["xen"].can_run(Rights.mine(), False)
    if reason:
        pytest.skip(reason)
    # The machine has room for its own domain; that one makes place for those of the lab inside.
    room = {"kind": "xen", "host": "sut", "memory": "256MiB"}
    spec = LabSpec.model_validate({"lab": "outer", "hosts": {"sut": {}}, "nodes": {"room": room}})
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DELAYLAB_RUN", str(folder))
        with temporary(spec) as lab:
            machine = Dom0(lab)
            machine.run("xl", "destroy", "room")
            scripts = resources.files("delaylab.images").joinpath("domain")
            machine.run("insmod", "/lib/delaylab/modules/veth.ko")
            machine.run("mkdir", "-p", RUN, "/run/domain")
            for name in ("start", "vif"):
                place, text = f"/run/domain/{name}", scripts.joinpath(name).read_bytes()
                machine.run("sh", "-c", f"cat >{place}; chmod 755 {place}", stdin=text)
            yield machine


class Inner:
    """A lab in the machine, on a leash: `keeper` is what its keeper answered."""

    def __init__(self, dom0: Dom0) -> None:
        self._session = dom0.lab.session("xen.sut")
        self._frames, decoder = list[Frame](), Decoder()
        self._session.on_output = lambda frame: self._frames.extend(decoder.feed(frame.payload))
        words = ["env", PATH, "delaylab-agent", "fabric"]
        self._session.start("exec", argv=words, stdin=True)
        request = {"op": "build", "lab": LAB.lab, "dir": f"{RUN}/{LAB.lab}", "linger": False}
        request |= {"rootless": False, "record": None, "plan": _filled(_plan())}
        self._session.stdin(Frame(FrameKind.MESSAGE, json.dumps(request).encode()).encode())
        while not self._frames:
            self._session.read_output(UP_S)
        answer = json.loads(self._frames[0].payload)
        assert "done" in answer, answer
        self.keeper: dict[str, Any] = answer["done"]

    def leave(self) -> None:
        """Let go of the leash; the keeper ends well."""
        self._session.stdin(b"")
        assert self.ended() == {"exit": 0}, self._frames[1:]

    def ended(self) -> dict[str, int]:
        """How the keeper ended, once it has."""
        done: dict[str, int] = self._session.finish(60).done
        self._session.close()
        return done


def _plan() -> Plan:
    return build(LAB, KINDS, Rights(root=True, dom0=True))


def _filled(plan: Plan) -> dict[str, Any]:
    text = json.dumps(plan.message(), default=vars)
    for file, place in FILES.items():
        text = text.replace(f"{{image:{file}}}", place)
    return dict(json.loads(text))


def _round_trip_ms(said: str) -> float:
    """The shortest that ping saw."""
    found = re.search(r"min/avg/max/mdev = ([0-9.]+)/", said)
    assert found, said
    return float(found[1])


def _address(node: str, link: str) -> str:
    found = next(i for i in _plan().interfaces[node] if i.link == link)
    return found.addresses[0].split("/")[0]


def test_a_domain_is_a_node_of_a_lab(dom0: Dom0) -> None:
    before = dom0.state()
    inner = Inner(dom0)
    assert dom0.agent("node.dom", "hostname").strip() == "dom"
    vif = dom0.agent("host.sut", "ip", "link", "show", "master", "br-lan", "dev", "vif-dom")
    assert "alias delaylab:inner" in vif
    dom0.agent("node.dom", "ping", "-c", "2", "-W", "5", _address("echo", "lan"))
    dom0.agent("node.box", "ping", "-c", "2", "-W", "5", _address("dom", "lan"))
    said = dom0.agent("node.box", "ping", "-c", "3", "-W", "5", _address("dom", "wan"))
    assert _round_trip_ms(said) >= 2 * DELAY_MS
    (name,) = dom0.domains()
    assert name.startswith("delaylab.inner.dom.")
    inner.leave()
    assert dom0.state() == before


def test_the_domain_of_a_killed_keeper_is_swept(dom0: Dom0) -> None:
    before = dom0.state()
    inner = Inner(dom0)
    dom0.run("kill", "-9", str(inner.keeper["pid"]))
    assert inner.ended() == {"killed": 9}
    assert len(dom0.domains()) == 1
    dom0.run("delaylab-agent", "fabric", "--sweep", RUN)
    assert dom0.state() == before
