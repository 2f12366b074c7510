"""Machines with kernels and clocks of their own: virtual machines of a lab, each with an sshd.

The lab joins them with a node that is the user's machine, by a bridge. So labs over them are
brought up from that node, by ssh, as on real machines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from benches.inside import Machine

from delaylab import images
from delaylab.agent.requests import Exec
from delaylab.agent.session import Session
from delaylab.lab.running import Lab
from delaylab.lab.start import temporary
from delaylab.spec.lab import LabSpec
from tests.doing.ssh_machines import MTU, Lan, write_keys

USER = "user"
MODULES = (
    *("af_packet", "veth", "bridge", "vxlan", "macvlan", "tun", "sch_ingress", "cls_bpf"),
    *("sch_htb", "sch_tbf", "ifb", "cls_u32", "act_mirred"),
)
BOOTED_S = 120

SSHD = """\
set -e
mkdir -p /run/sshd /root/.ssh
chmod 755 /run/sshd
printf '%s\\n' "$KEY" > /root/.ssh/authorized_keys
printf '%s\\n' "$HOST_KEY" > /run/host_key
chmod 600 /run/host_key
cat > /run/sshd_config <<END
HostKey /run/host_key
PidFile none
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
END
exec /usr/sbin/sshd -D -e -f /run/sshd_config
"""


@dataclass
class Guests(Lan):
    """The machines; `lab` is the lab that they are nodes of."""

    lab: Lab | None = None
    addresses: dict[str, str] | None = None

    @property
    def outer(self) -> Lab:
        assert self.lab is not None
        return self.lab

    def command(self, *argv: str) -> list[str]:
        call = [sys.executable, "-c", "from delaylab.__main__ import main; main()"]
        pid = self.outer.pid(f"node.{USER}")
        return ["nsenter", f"--target={pid}", "--net", *call, *argv]

    def on(self, name: str, *argv: str) -> str:
        session = self.outer.node_session(name)
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

    def address(self, name: str) -> str:
        assert self.addresses is not None
        return self.addresses[name]


@contextmanager
def guests(folder: Path, names: Sequence[str]) -> Iterator[Guests]:
    """Boot a virtual machine for each name; end all of them with the block."""
    node = {"kind": "qemu", "memory": "512MiB", "packages": ["openssh-server"]}
    spec = LabSpec.model_validate(
        {
            "lab": f"machines-{os.getpid()}",
            "nodes": {USER: {}, **dict.fromkeys(names, node)},
            "links": [{"join": [USER, *names], "name": "lan", "mtu": MTU}],
        }
    )
    with pytest.MonkeyPatch.context() as patched:
        run = folder / "outer"
        run.mkdir(mode=0o700)
        patched.setenv("DELAYLAB_RUN", str(run))
        with temporary(spec, accounting=False) as lab:
            patched.undo()
            at = {name: lab.planned(name).attachments[0].address for name in names}
            made = Guests(folder, list(names), USER, lab=lab, addresses=at)
            write_keys(made)
            for name in names:
                _give_modules(lab, name)
                Machine(lab, name).load(*MODULES)
            sshds = [_sshd(made, name) for name in names]
            yield made
            for sshd in sshds:
                sshd.close()


def _give_modules(lab: Lab, name: str) -> None:
    """Put the modules of the guest's kernel there: with a disk its first file system is gone."""
    archive = images.require("cloud")["kernel"].with_name("modules.cpio")
    session = lab.node_session(name)
    session.start(Exec(argv=["sh", "-c", "cd / && exec cpio -idmu"], stdin=True))
    session.event(BOOTED_S)
    session.stdin(archive.read_bytes())
    session.stdin(b"")
    session.finish(BOOTED_S)
    session.close()


def _sshd(made: Guests, name: str) -> Session:
    session = made.outer.node_session(name)
    key = (made.folder / "key.pub").read_text().strip()
    host_key = (made.folder / f"host-{name}").read_text().rstrip("\n")
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    session.start(
        Exec(argv=["sh", "-c", SSHD], env={"PATH": path, "KEY": key, "HOST_KEY": host_key})
    )
    listens = bytearray()
    session.on_output = lambda frame: listens.extend(frame.payload)
    while b"Server listening" not in listens:
        session.read_output(BOOTED_S)
    return session
