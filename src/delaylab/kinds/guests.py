"""What the kinds with a kernel of their own have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from delaylab.plan.kind import TUN, Kind, Node, Rights
from delaylab.plan.model import Agent, Guest, node_agent
from delaylab.spec import NodeSpec

MEBIBYTE = 1 << 20
ROOT = "rootfstype=ramfs"
"""Of a kernel's command line: the archive unpacked may take more than half of the memory, which is
as much as a tmpfs would have."""
# Where the kernel hands out real-time by group, a container in a group of its own has none of it,
# and its probes would be late. In mounts of their own, LXC and Docker do not see that hierarchy.
_HIDE = 'cpu=/sys/fs/cgroup/cpu; [ ! -e $cpu/cpu.rt_runtime_us ] || umount $cpu; exec "$@"'
QEMU_SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny")
"""QEMU's own filter of system calls: what breaks out of a guest into QEMU starts no program."""
WITHOUT_CPU_GROUPS = ("unshare", "--mount", "sh", "-c", _HIDE, "sh")
"""Before a command whose containers need no weight among others."""


def setup(node: Node) -> dict[str, Any]:
    """What the agent inside makes of its system; addresses are added by the plan."""
    own = [cable.card for cable in node.inner or node.cards]
    cards = [{"name": card.name, "mac": card.mac, "mtu": card.mtu} for card in own]
    return {"op": "setup", "hostname": node.name, "interfaces": cards, "operations": []}


def mebibytes(spec: NodeSpec, default: int) -> int:
    """A node's memory in MiB, rounded up."""
    return math.ceil(spec.memory.bytes / MEBIBYTE) if spec.memory else default


def initrd(spec: NodeSpec, image: str) -> str:
    """The first root: delaylab's of this image, or the node's own with the agent added."""
    return f"{{image:with-agent/{spec.initrd}}}" if spec.initrd else f"{{image:{image}/initrd}}"


def init(stream: str, modules: list[str]) -> str:
    """The end of a kernel's command line: what the agent as its init is started with."""
    words = ["init", "--stream", stream]
    return " ".join(words + (["--modules", ",".join(modules)] if modules else []))


class Machine(Kind):
    """A kind whose nodes have kernels of their own, driven over one stream each."""

    own_kernel = True
    program: str
    memory_mib = 160
    overhead_mib: int
    """What runs it takes beside its own memory."""
    deadline_ms: int
    env: Mapping[str, str] = {}

    def command(self, node: Node) -> list[str]:
        """What boots it."""
        raise NotImplementedError

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Where its program is installed and TAPs can be made; root is not needed."""
        return rights.why_not(self.program, TUN)

    def agent(self, node: Node) -> Agent:
        """A monitor in the host's network, where the TAPs are."""
        guest = Guest(
            "stream",
            tuple(self.command(node)),
            env=dict(self.env),
            deadline_ms=self.deadline_ms,
            setup=setup(node),
            pin=tuple(node.spec.pin or ()),
        )
        return Agent(node_agent(node.name), node.network, cpus=node.cpus, guest=guest)

    def memory(self, spec: NodeSpec) -> int:
        """Its own, and what runs it takes beside it."""
        return (mebibytes(spec, self.memory_mib) + self.overhead_mib) * MEBIBYTE
