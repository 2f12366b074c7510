"""The interface between a plan and the node kinds, which are in `delaylab.kinds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from delaylab.plan.model import Agent, DomainCable, TapDevice
from delaylab.resolve.agent_names import Network
from delaylab.spec.capabilities import ALL_CAPABILITIES, Capability
from delaylab.spec.kinds import FACTS, NodeSpec
from delaylab.spec.lab import XenSpec

SLIRP = "slirp4netns"
PACKAGES = {
    "lxc-start": "lxc",
    "dockerd": "docker.io",
    "qemu-system-x86_64": "qemu-system-x86",
    "linux.uml": "user-mode-linux",
    SLIRP: "slirp4netns",
}
"""Programs that nodes need, and the Debian packages that contain them."""
TUN = "/dev/net/tun"
KVM, VHOST = "/dev/kvm", "/dev/vhost-net"
DEVICES = (TUN, KVM, VHOST)
"""Devices that nodes use if they are there; virtual machines need the first."""
CAPABILITIES: tuple[Capability, ...] = ("net_admin", "net_raw", "setpcap", "sys_admin")
"""Capabilities that root needs for any lab: its namespaces, their networks, and nodes with less."""
OfKind = TypeVar("OfKind", bound=NodeSpec)
"""The class of a kind's entries in a lab file."""


@dataclass(frozen=True)
class Rights:
    """The rights of this user on this machine, and the programs and devices that are missing."""

    root: bool
    lacking: frozenset[str] = frozenset()
    dom0: bool = False
    """True if Xen runs this machine and lets this user create domains."""
    capabilities: frozenset[Capability] = frozenset(ALL_CAPABILITIES)
    """Capabilities that programs started by this user's processes can have."""
    amx: bool = False
    """True if the CPU has AMX, whose registers make a process's state larger than 8 KiB."""

    def why_no_lab(self) -> str | None:
        """Return which capabilities root lacks for any lab, as in a container, or None.

        Without root a lab is in a user namespace, which has all of them.
        """
        names = (each for each in CAPABILITIES if self.root and each not in self.capabilities)
        lacking = ", ".join(f"CAP_{each.upper()}" for each in names)
        return f"root lacks {lacking} there, which every lab needs" if lacking else None

    def why_not(self, *needs: str) -> str | None:
        """Return which of these programs and devices is missing, with a remedy, or None."""
        for need in needs:
            if need in self.lacking and need in PACKAGES:
                return f"{need} is not installed; apt-get install {PACKAGES[need]}"
            if need in self.lacking:
                return f"{need} cannot be read and written; as root: chmod 666 {need}"
        return None


@dataclass(frozen=True, kw_only=True)
class Node(Generic[OfKind]):
    """A node as passed to its kind.

    `network` is the agent in whose network the host's stack is. `cards` are the cables of a virtual
    machine. `inner` are the cables of a Xen domain; if the domain is in a virtual machine, `cards`
    are that machine's. `lab` is the name of the running lab.
    """

    name: str
    lab: str
    spec: OfKind
    host: str
    network: Network
    cpus: tuple[int, ...] | None = None
    cards: tuple[TapDevice, ...] = ()
    inner: tuple[DomainCable, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    """Capabilities that the node's programs may have."""
    machine: str | None = None
    """The machine of its host by its name in the lab file, None if it is this one."""
    xen: XenSpec | None = None
    """The emulated machine of the host's Xen domains, if the lab file describes it."""


class Kind(Generic[OfKind]):
    """A technology that a node can be made of.

    `in_shared_machine`: the node shares a machine, and the machine's TAP, with the others of
    its host. `hypervisor_bridged`: the node's hypervisor makes the host's end of its cable, and
    puts it into a bridge, only when it starts. `boot_s`: the estimated seconds to start one, for
    estimates only. What does not depend on how delaylab makes the node is in `facts`.
    """

    name: str
    in_shared_machine = False
    hypervisor_bridged = False
    boot_s = 0.0
    not_elsewhere: str | None = None
    """Reason why its nodes cannot be on other machines, with a remedy; None if they can."""

    @property
    def facts(self) -> type[NodeSpec]:
        """Return what is true of the kind, however it is made."""
        return FACTS[self.name]

    @property
    def own_stack(self) -> bool:
        """Return True if a node has a network stack of its own, hence a virtual interface."""
        return self.facts.own_stack

    @property
    def own_kernel(self) -> bool:
        """Return True if a node's stack is in another kernel than its host's."""
        return self.facts.virtual_machine

    def here(self, rights: Rights) -> Kind[OfKind]:
        """Return the variant of the kind for a machine with these rights."""
        return self

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return the reason why the kind cannot run, with a remedy, or None.

        `on_machine` is True if the node's host is this machine itself.
        """
        return None

    def agent(self, node: Node[OfKind]) -> Agent:
        """Return the agent that the fabric starts for a node."""
        raise NotImplementedError

    def services(self, nodes: tuple[Node[OfKind], ...]) -> tuple[Agent, ...]:
        """Return further agents that a lab with these nodes of this kind needs."""
        return ()

    def no_send_stamp(self, spec: OfKind) -> str | None:
        """Return the reason why such a node's card gives no stamp on sending, or None."""
        return None

    def memory(self, spec: OfKind) -> int:
        """Return the bytes of this machine's memory that such a node takes, without its loads."""
        return 2 << 20


AnyKind: TypeAlias = Kind[Any]
"""A kind whose nodes' class is not known; a plan passes each kind its own nodes alone."""
