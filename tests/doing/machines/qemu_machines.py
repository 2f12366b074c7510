"""Machines with kernels and clocks of their own: virtual machines of a lab, each with an sshd.

The lab joins them with a node that is the user's machine, by a bridge. So labs over them are
brought up from that node, by ssh, as on real machines.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from benches.inside import Machine

from delaylab import images
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Exec
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data
from tests.doing.machines.ssh_machines import MTU, Lan, write_keys

USER = "user"
USER_ADDRESS, NOBODY = "10.77.0.200", "10.77.0.201"
HOST = "host.here"
MODULES = (
    *("af_packet", "veth", "bridge", "vxlan", "macvlan", "tun", "sch_ingress", "cls_bpf"),
    *("sch_htb", "sch_tbf", "ifb", "cls_u32", "act_mirred"),
)
BOOTED_S = 120
SLOWER = 4.0
"""The factor by which a machine may be slower than a namespace, if it is emulated."""

SSHD = """\
set -e
mkdir -p /run/sshd /root/.ssh
chmod 755 /run/sshd
printf '%s\\n' "$KEY" > /root/.ssh/authorized_keys
printf '%s\\n' "$HOST_KEY" > /run/host_key
chmod 600 /run/host_key
# Where delaylab's agent looks for what the machine is, also after a restart.
ssh-keygen -y -f /run/host_key > /etc/ssh/ssh_host_ed25519_key.pub
cat > /run/sshd_config <<END
HostKey /run/host_key
PidFile none
# Takes less CPU time than the default.
Ciphers aes128-gcm@openssh.com
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
END
exec /usr/sbin/sshd -D -e -f /run/sshd_config
"""

CHRONYD = """\
set -e
mkdir -p /run/chrony
printf '%s\\n' "$1" > /run/chrony.conf
exec chronyd -d -f /run/chrony.conf
"""
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class Guests(Lan):
    """The machines; `lab` is the lab that they are nodes of.

    A machine that is switched off and on is the node of a lab of its own, whose LAN is joined to
    that of `lab`.
    """

    lab: LiveLab | None = None
    apart: dict[str, tuple[LiveLab, ExitStack]] = field(default_factory=dict)

    @property
    def outer(self) -> LiveLab:
        assert self.lab is not None
        return self.lab

    def lab_of(self, name: str) -> LiveLab:
        return self.apart[name][0] if name in self.apart else self.outer

    @property
    def network(self) -> Path:
        return Path(f"/proc/{self.outer.pid(f'node.{USER}')}/ns/net")

    def on(self, name: str, *argv: str) -> str:
        session = self.lab_of(name).node_session(name)
        try:
            result = session.call(Exec(argv=argv), BOOTED_S)
        finally:
            session.close()
        return result.stdout.decode() + result.stderr.decode()

    def traces(self, name: str) -> list[str]:
        """Return what is left of labs on a machine, apart from what it has of its own.

        These are its init, its network card, and two interfaces that come with the module ifb.
        """
        found, own = super().traces(name), (" lan: ", " ifb0: ", " ifb1: ")
        return [
            line
            for line in found
            if not line.startswith("/init ") and not any(each in line for each in own)
        ]

    def switch_on(self, name: str) -> None:
        """Boot a machine in a lab of its own."""
        with ExitStack() as stack:
            lab = stack.enter_context(_lab(self, f"{self.outer.name}-{name}", [name]))
            _join(self.outer, lab)
            stack.enter_context(_sshd(self, lab, name))
            self.apart[name] = lab, stack.pop_all()

    def switch_off(self, name: str, *, power: bool) -> None:
        """End a machine; without `power` its processes end first, which closes connections."""
        lab, stack = self.apart.pop(name)
        session = lab.node_session(name)
        if not power:
            # The shell is killed as well: the machine's init then says that it has ended.
            with suppress(AgentError):
                session.call(Exec(argv=["sh", "-c", "kill -9 -1"]), BOOTED_S)
        session.close()
        os.kill(_qemu(lab, name), signal.SIGKILL)
        stack.close()


@contextmanager
def guests(folder: Path, names: Sequence[str], apart: Collection[str] = ()) -> Iterator[Guests]:
    """Boot a virtual machine for each name; end all of them with the block.

    Those of `apart` can be switched off and on.
    """
    made = Guests(folder, list(names), USER, slower=SLOWER)
    write_keys(made)
    together = [name for name in names if name not in apart]
    with ExitStack() as stack:
        made.lab = stack.enter_context(_lab(made, f"machines-{os.getpid()}", [USER, *together]))
        for name in together:
            stack.enter_context(_sshd(made, made.lab, name))
        try:
            for name in apart:
                made.switch_on(name)
            yield made
        finally:
            for _, own in made.apart.values():
                own.close()


@contextmanager
def chrony(made: Guests, serving: str, following: str) -> Iterator[None]:
    """Have one machine serve time, and another follow it, for the length of a block."""
    here = f"server {made.address(serving)} iburst minpoll -2 maxpoll -2 xleave"
    settings = {serving: "local stratum 8\nallow", following: f"{here}\nmakestep 0.0001 3"}
    with ExitStack() as stack:
        for name, text in settings.items():
            session = made.lab_of(name).node_session(name)
            stack.callback(_ended, session)
            session.start(Exec(argv=["sh", "-c", CHRONYD, "sh", text], env={"PATH": PATH}))
        made.on(following, "chronyc", "waitsync", str(BOOTED_S), "0.001", "0", "1")
        assert made.address(serving) in made.on(following, "chronyc", "-c", "tracking")
        yield


def _ended(session: Session) -> None:
    """End what a session runs, and wait for its end."""
    session.stop()
    session.finish(BOOTED_S)
    session.close()


@contextmanager
def _lab(made: Guests, name: str, nodes: Sequence[str]) -> Iterator[LiveLab]:
    """Bring up a lab of machines, one of which may be the user's, on a LAN."""
    guest = {"kind": "qemu", "memory": "512MiB", "packages": ["openssh-server", "chrony"]}
    at = {each: f"{made.address(each) if each != USER else USER_ADDRESS}/24" for each in nodes}
    # A link needs two nodes.
    others: dict[str, dict[str, str]] = {} if len(nodes) > 1 else {"nobody": {}}
    at |= dict.fromkeys(others, f"{NOBODY}/24")
    spec = lab_from_data(
        {
            "lab": name,
            "nodes": {each: {} if each == USER else guest for each in nodes} | others,
            "links": [{"join": list(at), "name": "lan", "mtu": MTU, "addresses": at}],
        }
    )
    run = made.folder / "outer"
    run.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DELAYLAB_RUN", str(run))
        with temporary(spec, accounting=False) as lab:
            patched.undo()
            for each in nodes:
                if each != USER:
                    _give_modules(lab, each)
                    Machine(lab, each).load(*MODULES)
            yield lab


def _join(one: LiveLab, other: LiveLab) -> None:
    """Join the LANs of two labs; the cable ends with either."""
    places = [str(lab.pid(HOST)) for lab in (one, other)]
    veth = ["type", "veth", "peer", "between", "mtu", str(MTU), "netns", places[1]]
    _within(places[0], "ip", "link", "add", "between", "mtu", str(MTU), *veth)
    for place in places:
        _within(place, "ip", "link", "set", "between", "master", "br-lan", "up")


def _within(pid: str, *argv: str) -> None:
    subprocess.run(["nsenter", f"--target={pid}", "--net", *argv], check=True, capture_output=True)


def _qemu(lab: LiveLab, name: str) -> int:
    """Return the process of a machine, the only child of its monitor."""
    monitor = lab.pid(f"node.{name}")
    (machine,) = Path(f"/proc/{monitor}/task/{monitor}/children").read_text().split()
    return int(machine)


def _give_modules(lab: LiveLab, name: str) -> None:
    """Put the modules of the guest's kernel there: with a disk its first file system is gone."""
    archive = images.require("cloud")["kernel"].with_name("modules.cpio")
    session = lab.node_session(name)
    session.start(Exec(argv=["sh", "-c", "cd / && exec cpio -idmu"], stdin=True))
    session.event(BOOTED_S)
    session.stdin(archive.read_bytes())
    session.stdin(b"")
    session.finish(BOOTED_S)
    session.close()


@contextmanager
def _sshd(made: Guests, lab: LiveLab, name: str) -> Iterator[None]:
    """Have an sshd listen on a machine."""
    session = lab.node_session(name)
    key = (made.folder / "key.pub").read_text().strip()
    host_key = (made.folder / f"host-{name}").read_text().rstrip("\n")
    session.start(
        Exec(argv=["sh", "-c", SSHD], env={"PATH": PATH, "KEY": key, "HOST_KEY": host_key})
    )
    listens = bytearray()
    session.on_output = lambda frame: listens.extend(frame.payload)
    try:
        while b"Server listening" not in listens:
            session.read_output(BOOTED_S)
        yield
    finally:
        session.close()
