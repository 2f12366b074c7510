"""What a plan has to know of a node kind; the kinds themselves are in `delaylab.kinds`."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from delaylab.plan.model import Agent, Inner, Tap
from delaylab.spec import ALL_CAPABILITIES, Capability, NodeSpec

PACKAGES = {
    "lxc-start": "lxc",
    "dockerd": "docker.io",
    "qemu-system-x86_64": "qemu-system-x86",
    "linux.uml": "user-mode-linux",
}
"""Programs that kinds need, and the Debian packages that have them."""
TUN = "/dev/net/tun"
CAPABILITIES = Path("/proc/xen/capabilities")
"""What Xen lets this domain do: `control_d` in a dom0."""


@dataclass(frozen=True)
class Rights:
    """What this user may do on this machine, and which programs it lacks."""

    root: bool
    lacking: frozenset[str] = frozenset()
    dom0: bool = False
    """Xen runs this machine and lets this user make domains beside it."""
    capabilities: frozenset[Capability] = frozenset(ALL_CAPABILITIES)
    """What the programs can have that this user's processes start."""

    @classmethod
    def mine(cls) -> Rights:
        """Of the process that asks."""
        lacking = {name for name in PACKAGES if shutil.which(name) is None}
        if not os.access(TUN, os.R_OK | os.W_OK):
            lacking.add(TUN)
        root = os.geteuid() == 0
        # Who is not root becomes root of a user namespace, with all of them.
        capabilities = _bounding() if root else frozenset(ALL_CAPABILITIES)
        return cls(root, frozenset(lacking), root and _is_dom0(), capabilities)

    def why_not(self, *needs: str) -> str | None:
        """None, or which of these programs and devices is missing and what to do."""
        for need in needs:
            if need in self.lacking and need in PACKAGES:
                return f"{need} is not installed; apt-get install {PACKAGES[need]}"
            if need in self.lacking:
                return f"{need} cannot be read and written; as root: chmod 666 {need}"
        return None


def _bounding() -> frozenset[Capability]:
    """Return the capabilities of this process's bounding set (proc_pid_status(5))."""
    lines = Path("/proc/self/status").read_text().splitlines()
    bits = next(int(line.split()[1], 16) for line in lines if line.startswith("CapBnd:"))
    return frozenset(name for number, name in enumerate(ALL_CAPABILITIES) if bits >> number & 1)


def _is_dom0() -> bool:
    try:
        may = CAPABILITIES.read_text()
    except OSError:
        return False
    return "control_d" in may and shutil.which("xl") is not None


@dataclass(frozen=True)
class Node:
    """A node as its kind gets to know it.

    `network`: the agent in whose network its host's stack is. `cards`: for virtual machines, its
    cables; `inner`: a Xen domain's, whose cards are those of the machine that it is in, if it is in
    one. `lab`: the name of this running lab.
    """

    name: str
    lab: str
    spec: NodeSpec
    network: str
    cpus: tuple[int, ...] | None = None
    cards: tuple[Tap, ...] = ()
    inner: tuple[Inner, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    """What its programs may have of root's capabilities."""


class Kind:
    """A technology that a node can be made of.

    `own_stack`: the node has a network stack of its own, hence a virtual interface; else it
    lives in its host's. `own_kernel`: that stack is in another kernel, with a clock of its own,
    and its cable is a TAP. `nested`: it shares a machine, and the machine's TAP, with the
    others of its host. `backed`: its hypervisor makes the host's end of its cable, and puts it
    into a bridge, only when it starts. `boot_s`: a guess at how long one takes to start, for
    estimates only.
    """

    name: str
    own_stack = True
    own_kernel = False
    nested = False
    backed = False
    boot_s = 0.0

    def here(self, rights: Rights) -> Kind:
        """The kind as it is on a machine with these rights."""
        return self

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """None, or why not and what to do; `on_machine`: its host is this machine itself."""
        return None

    def agent(self, node: Node) -> Agent:
        """The agent that the fabric starts for a node."""
        raise NotImplementedError

    def services(self, nodes: tuple[Node, ...]) -> tuple[Agent, ...]:
        """Agents that a lab with these nodes of this kind needs beside theirs."""
        return ()

    def no_send_stamp(self, spec: NodeSpec) -> str | None:
        """None, or why the kernel gives no stamp when such a node's card sends a packet."""
        return None

    def memory(self, spec: NodeSpec) -> int:
        """Bytes of this machine's memory that such a node takes, its loads not counted."""
        return 2 << 20
