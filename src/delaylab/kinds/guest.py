"""Common parts of the kinds with a kernel of their own or in containers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeVar

from delaylab.errors import BadInput
from delaylab.io.values import JsonObject
from delaylab.plan.kind import TUN, Kind, Node, OfKind, Rights
from delaylab.plan.model import Agent, Guest
from delaylab.plan.references import to_file
from delaylab.resolve.agent_names import node_agent
from delaylab.spec.kinds import HostedNode, ImageNode, KernelNode, QemuNode, XenNode
from delaylab.units import MEBIBYTE

ROOT = "rootfstype=ramfs"
"""Kernel parameter for a ramfs root.

The unpacked archive may take more than half of the memory, which is a tmpfs's limit.
"""
OfMachine = TypeVar("OfMachine", bound=KernelNode | XenNode)
QEMU_SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny")
"""QEMU's own system call filter: code that escapes from a guest into QEMU starts no program."""


def setup(node: Node[OfKind]) -> JsonObject:
    """Return the setup request for the agent inside; the plan adds the addresses."""
    own = [cable.card for cable in node.inner or node.cards]
    cards: list[JsonObject] = [
        {"name": card.name, "mac": card.mac, "mtu": card.mtu} for card in own
    ]
    return {"op": "setup", "hostname": node.name, "interfaces": cards, "operations": []}


def mebibytes(spec: KernelNode | XenNode, default: int) -> int:
    """Return a node's memory in MiB, rounded up."""
    return math.ceil(spec.memory.bytes / MEBIBYTE) if spec.memory else default


def check_memory(node: Node[QemuNode], memory_mib: int, least_mib: int) -> None:
    """Raise BadInput if a node has too little memory to unpack delaylab's own image."""
    own = node.spec.kernel is None and node.spec.initrd is None and node.spec.image is None
    if own and memory_mib < least_mib:
        what = f"{memory_mib} MiB of memory are too few to unpack delaylab's image"
        raise BadInput(what, f"node {node.name}", f"give it {least_mib}MiB or more")


def image_file(image: str, spec: HostedNode, file: str) -> str:
    """Return the reference to a file of one of delaylab's images with the node's packages in it."""
    return f"{{image:{':'.join([image, *sorted({*(spec.packages or ())})])}/{file}}}"


def root_disk(spec: KernelNode, own: Callable[[str], str] = to_file) -> str | None:
    """Return the disk that is a virtual machine's root: the user's, or one with its packages.

    `own` makes a reference to the user's. Packages are on a disk and not in the initramfs, which is
    unpacked into the guest's memory.
    """
    if spec.packages:
        return image_file("disk", spec, "disk")
    return own(spec.image) if isinstance(spec, ImageNode) and spec.image else None


def initrd(spec: KernelNode, image: str) -> str:
    """Return the initial root: delaylab's of this image, or the node's own with the agent added."""
    if spec.initrd:
        return f"{{image:with-agent/{spec.initrd}}}"
    # With its programs on a disk, a guest boots from the agent and the drivers alone.
    return f"{{image:{'boot-' if root_disk(spec) else ''}{image}/initrd}}"


def init(stream: str, modules: list[str]) -> str:
    """Return the end of a kernel's command line, with which the agent starts as init."""
    words = ["init", "--stream", stream]
    return " ".join(words + (["--modules", ",".join(modules)] if modules else []))


class VirtualMachine(Kind[OfMachine]):
    """A kind whose nodes have kernels of their own, each driven over one stream."""

    program: str
    memory_mib = 192
    overhead_mib: int
    """MiB that the hypervisor takes beside the guest's own memory."""
    deadline_ms: int
    env: Mapping[str, str] = {}

    def command(self, node: Node[OfMachine]) -> list[str]:
        """Return the command that boots a node."""
        raise NotImplementedError

    def environment(self, spec: OfMachine) -> dict[str, str]:
        """Return the environment of the program that runs a node."""
        return dict(self.env)

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return a reason unless the program is installed and TAPs can be made.

        Root is not needed.
        """
        return rights.why_not(self.program, TUN)

    def agent(self, node: Node[OfMachine]) -> Agent:
        """Return a monitor in the host's network, where the TAPs are."""
        pin = node.spec.pin if isinstance(node.spec, QemuNode) else None
        guest = Guest(
            "stream",
            tuple(self.command(node)),
            env=self.environment(node.spec),
            deadline_ms=self.deadline_ms,
            setup=setup(node),
            pin=tuple(pin or ()),
        )
        return Agent(node_agent(node.name), node.network, cpus=node.cpus, guest=guest)

    def memory(self, spec: OfMachine) -> int:
        """Return the bytes of the guest's own memory and of its hypervisor."""
        return (mebibytes(spec, self.memory_mib) + self.overhead_mib) * MEBIBYTE
