"""Xen domains on a machine that is a dom0: the driver domain of an emulated Xen stands for one.

The plan is made out here, for a machine with those rights, and carried out in there.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from delaylab.agent.frames import Decoder, Frame, FrameKind
from delaylab.agent.wire.sessions import Exec, Terminal
from delaylab.kinds import KINDS, Rights
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.plan.build import build
from delaylab.plan.model import Plan
from delaylab.resolve.resolve import lab_from_data
from tests.doing.conftest import skip_unless_runnable
from tests.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow]

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
NAME = "inner"
DOMAINS: dict[str, dict[str, Any]] = {
    "pv": {"guest": "pv"},
    "pvh": {"guest": "pvh", "vcpus": 2, "cpus": [0], "memory": "180MiB"},
}
UP_S = 400
PATH = "PATH=/lib/delaylab/xen:/usr/sbin:/usr/bin:/sbin:/bin"


class Dom0:
    """The machine: commands in it, and a lab."""

    def __init__(self, lab: LiveLab) -> None:
        self.lab = lab

    def run(
        self, *argv: str, stdin: bytes = b"", tty: Terminal | None = None, code: int = 0
    ) -> str:
        """What a command says, on either stream."""
        session, said = self.lab.session("xen.sut"), bytearray()
        session.on_output = lambda frame: said.extend(frame.payload)
        result = session.start(Exec(argv=["env", PATH, *argv], stdin=True, tty=tty))
        if tty is None:
            for piece in (stdin, b""):
                session.stdin(piece)
        session.finish(120)
        session.close()
        assert result.done.exit == code, (argv, result.done, said.decode())
        return said.decode()

    def agent(self, name: str, *argv: str, code: int = 0) -> str:
        """What a command says that an agent of the lab runs."""
        screen = Terminal(25, 200, "dumb")
        socket = f"{RUN}/{NAME}/{name}.sock"
        words = ["delaylab-agent", "call", socket, "--stream", "0", "--", *argv]
        return self.run(*words, tty=screen, code=code)

    def domains(self) -> list[str]:
        """The names of domains beside this one."""
        lines = self.run("xl", "vm-list").splitlines()[1:]
        return [name for _, _, name in map(str.split, lines) if name != "Domain-0"]

    def state(self) -> list[str]:
        """What a lab may leave behind: interfaces, logs, folders, domains."""
        return [self.run("ls", "/sys/class/net", "/var/log/xen", RUN), *self.domains()]


@pytest.fixture(scope="module")
def dom0(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dom0]:
    skip_unless_runnable("xen")
    # The machine has room for its own domain; that one makes place for those of the lab inside.
    room = {"kind": "xen", "host": "sut", "memory": "256MiB"}
    spec = lab_from_data({"lab": "outer", "hosts": {"sut": {}}, "nodes": {"room": room}})
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
    """A lab in the machine, on a leash: killed with its keeper if a test fails."""

    def __init__(self, dom0: Dom0, domain: dict[str, Any]) -> None:
        self.plan = _plan(domain)
        self._dom0, self._session = dom0, dom0.lab.session("xen.sut")
        self._frames, decoder = list[Frame](), Decoder()
        self._session.on_output = lambda frame: self._frames.extend(decoder.feed(frame.payload))
        argv = ["env", PATH, "delaylab-agent", "fabric"]
        self._result = self._session.start(Exec(argv=argv, stdin=True))
        self._keeper = self._session.event(30).started

    def __enter__(self) -> Inner:
        request: dict[str, Any] = {"op": "build", "lab": NAME, "dir": f"{RUN}/{NAME}"}
        request |= {"rootless": False, "record": None, "plan": _filled(self.plan)}
        self._session.stdin(Frame(FrameKind.MESSAGE, json.dumps(request).encode()).encode())
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def answer(self) -> dict[str, Any]:
        """What the keeper says once the lab is up, or cannot be."""
        while not self._frames:
            self._session.read_output(UP_S)
        return dict(json.loads(self._frames[0].payload))

    def wait(self) -> None:
        """Until it is up."""
        answer = self.answer()
        assert "done" in answer, answer

    def leave(self) -> None:
        """Let go of the leash; the keeper ends well."""
        self._session.stdin(b"")
        self._session.finish(60)
        assert self._result.done.exit == 0, self._frames[1:]

    def kill(self) -> None:
        """The keeper, which can do nothing more; what it left is swept."""
        self._dom0.run("kill", "-9", str(self._keeper))
        self._session.finish(60)
        assert self._result.done.killed == 9
        self._dom0.run("delaylab-agent", "fabric", "--sweep", RUN)


def _plan(domain: dict[str, Any]) -> Plan:
    lab = {
        "lab": NAME,
        "hosts": {"sut": {}, "target": {}},
        "nodes": {
            "dom": {"kind": "xen", "host": "sut", **domain},
            "box": {"kind": "netns", "host": "sut"},
            "echo": {"kind": "netns", "host": "target"},
        },
        "links": [
            {"join": ["dom", "box", "echo"], "name": "lan"},
            {"between": ["dom", "box"], "name": "wan", "delay": f"{DELAY_MS}ms"},
        ],
    }
    return build(lab_from_data(lab), KINDS, Rights(root=True, dom0=True))


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


def _address(plan: Plan, node: str, link: str) -> str:
    return plan.attachment(node, link).address


@pytest.fixture
def nothing_left(dom0: Dom0) -> Iterator[None]:
    """After a test the machine is as it was before; the kernel may still be at it."""
    before = dom0.state()
    yield
    wait_until(lambda: dom0.state() == before, why=lambda: (dom0.state(), before))


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_domain_is_a_node_of_a_lab(domain: str, dom0: Dom0) -> None:
    with Inner(dom0, DOMAINS[domain]) as inner:
        inner.wait()
        assert dom0.agent("node.dom", "hostname").strip() == "dom"
        vcpus = DOMAINS[domain].get("vcpus", 1)
        assert dom0.agent("node.dom", "nproc").strip() == str(vcpus)
        vif = dom0.agent("host.sut", "ip", "link", "show", "master", "br-lan", "dev", "dom.lan")
        assert "alias delaylab:inner" in vif
        dom0.agent("node.dom", "ping", "-c", "2", "-W", "5", _address(inner.plan, "echo", "lan"))
        dom0.agent("node.box", "ping", "-c", "2", "-W", "5", _address(inner.plan, "dom", "lan"))
        said = dom0.agent(
            "node.box", "ping", "-c", "3", "-W", "5", _address(inner.plan, "dom", "wan")
        )
        assert _round_trip_ms(said) >= 2 * DELAY_MS
        (name,) = dom0.domains()
        assert name.startswith("delaylab.inner.dom.")
        inner.leave()


@pytest.mark.usefixtures("nothing_left")
def test_the_domain_of_a_killed_keeper_is_swept(dom0: Dom0) -> None:
    with Inner(dom0, DOMAINS["pv"]) as inner:
        inner.wait()
        assert len(dom0.domains()) == 1
        inner.kill()


@pytest.mark.usefixtures("nothing_left")
def test_a_domain_that_does_not_fit(dom0: Dom0) -> None:
    with Inner(dom0, {"memory": "60GiB"}) as inner:
        error = inner.answer()["error"]
        assert error["what"] == "start the guest of node.dom"
        assert "no domain of 61440 MiB; Xen has " in error["why"], error


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("seed", range(5))
def test_killed_while_its_domain_starts(seed: int, dom0: Dom0) -> None:
    with Inner(dom0, DOMAINS["pv"]) as inner:
        mark = f"{RUN}/{NAME}/dom.domain"
        dom0.run("sh", "-c", f"until [ -s {mark} ]; do sleep 0.01; done")
        time.sleep(random.Random(seed).uniform(0, 3))  # the moment is the test's random input
        inner.kill()
