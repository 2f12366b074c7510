"""The kinds of nodes: what is true of each, and what a lab file says of a node of that kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from delaylab.spec.base import Cpus, InterfaceName, Name, Packages, Texts, no_items
from delaylab.spec.capabilities import Capability
from delaylab.spec.carrier import CarrierBy
from delaylab.spec.mechanisms import OF_HOST_KERNEL, OF_MACHINE, OF_OWN_KERNEL, Mechanism
from delaylab.spec.places import PlaceSpec
from delaylab.spec.programs import (
    Environment,
    FileSpec,
    NodePath,
    ProgramSpec,
    check_programs,
)
from delaylab.spec.routing.model import NodeRouting
from delaylab.spec.routing.static_routes import DEFAULT, RouteSpec
from delaylab.spec.variants import Variants, all_fields
from delaylab.units import Multiple, Share, Size

SMALLEST_QUOTA = Multiple(Share.WHOLE // 100)
"""The kernel's smallest: 1 ms of each 100 ms."""
Memory = Annotated[
    Size | None,
    Field(description="The memory of a virtual machine; of a container the memory limit."),
]
Vcpus = Annotated[int, Field(ge=1, le=64, description="The number of virtual CPUs.")]


class NodeSpec(Variants):
    """An emulated system."""

    own_stack: ClassVar[bool] = True
    """False for nodes that use their host's network stack."""
    own_root: ClassVar[bool] = False
    """True for containers and virtual machines: they have root file systems of their own."""
    container: ClassVar[bool] = False
    virtual_machine: ClassVar[bool] = False
    carrier: ClassVar[CarrierBy | None] = "port"
    """The means to take the carrier of a node's card; None if nothing can."""
    emulated: ClassVar[bool] = False
    """True for nodes that are emulated in software where the CPU cannot run them."""
    mechanisms: ClassVar[frozenset[Mechanism]] = OF_HOST_KERNEL

    kind: str = Field(
        "netns", description="The technology that the node is made with; see docs/kinds."
    )
    host: Name | None = Field(
        None, description="The host that carries the node; left out, this machine."
    )
    cpus: Cpus | None = Field(None, description="The CPUs that the node's processes may use.")
    reserved: bool = Field(
        False,
        description="Reserve `cpus` for this node, and for nodes that reserve exactly the same "
        "CPUs. All other nodes need `cpus` that leave these out. Trials in which other programs "
        "used a reserved CPU decide no claim.",
    )
    count: int | None = Field(
        None, ge=0, le=1000, description="The number of such nodes, named NAME-1, NAME-2 and so on."
    )
    files: dict[NodePath, FileSpec] = Field(
        default_factory=dict,
        max_length=1000,
        description="Files that the node gets before its programs start, by their path in it. A "
        "node without a root file system of its own has copies of this machine's /etc, /run, /var "
        "and /tmp, and its files are there.",
    )
    env: Environment = Field(
        default_factory=dict,
        description="Variables of the environment of the node's programs, and of `exec` and "
        "`shell`.",
    )
    start: list[ProgramSpec] = Field(
        default_factory=no_items,
        max_length=100,
        description="Programs that run as long as the node, started one after the other, each "
        "once the one before it is ready. `ps` shows them, `logs` their output.",
    )
    forwards: bool = Field(
        False, description="Make the node a router: its kernel forwards packets between its links."
    )
    loopback: Texts = Field(
        default_factory=no_items,
        max_length=2,
        description="A router's loopback: an address of each IP version, alone or with a prefix.",
    )
    routes: list[RouteSpec] = Field(
        default_factory=no_items,
        max_length=10_000,
        description="Routes of the node, in addition to those that the lab sets. To the same "
        "network this one is taken.",
    )
    routing: NodeRouting = Field(
        None,
        description="The node's routing daemons, where they differ from the lab's; `none`: it has "
        "none.",
    )
    at: PlaceSpec | None = Field(
        None, description="The place of the node. It changes nothing in the network."
    )

    @property
    def has_daemons(self) -> bool:
        """Return True if the node's own entry has routing; in a resolved lab, if it has daemons."""
        return self.routing not in (None, "none")

    @property
    def outside(self) -> str | None:
        """Return the machine's interface that this node stands for; None for an ordinary node."""
        return None

    @property
    def leads_outside(self) -> bool:
        """Return True if the node has a way outside by address translation."""
        return False

    @classmethod
    def variant_of(cls, said: Mapping[str, object]) -> type[NodeSpec]:
        """Return the class of the kind."""
        kind = said.get("kind", "netns")
        if isinstance(kind, str) and kind in FACTS:
            return FACTS[kind]
        *names, last = map(repr, FACTS)
        raise cls.wrong("literal_error", ("kind",), kind, expected=f"{', '.join(names)} or {last}")

    @classmethod
    def refusal(cls, name: str) -> str:
        """Return the error text for a field that this kind does not have."""
        kinds = ", ".join(sorted(FIELDS_OF_KINDS[name]))
        return f"`{name}` means nothing to kind {name_of(cls)!r}; it is for {kinds}"

    @model_validator(mode="after")
    def _reserved_cpus(self) -> Self:
        if self.reserved and self.cpus is None:
            raise ValueError("`reserved` needs `cpus`: those that are reserved")
        return self

    @model_validator(mode="after")
    def _names_of_programs(self) -> Self:
        check_programs(self.start)
        return self


class HostedNode(NodeSpec):
    """A node that this machine gives its CPU time, and that programs of packages can be put into.

    A Xen domain's kernel is in its driver domain's image, and its CPU time is Xen's to share out.
    """

    cpu_weight: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="The node's weight where nodes of the lab compete for a CPU. Nodes without one "
        "have 100, the usual weight. Needs root.",
    )
    cpu_quota: Multiple | None = Field(
        None,
        description="The most CPU time that the node may use, as a share of one CPU: `50%`, or "
        "`150%` of a CPU and a half. The kernel gives it anew every 100 ms. Needs root.",
    )
    packages: Packages | None = Field(
        None,
        description="Packages of the distribution whose programs the node needs. delaylab puts "
        "them into the image of a container or a virtual machine; nodes that use this machine's "
        "programs start only if it has them installed.",
    )

    @model_validator(mode="after")
    def _smallest_quota(self) -> Self:
        if self.cpu_quota is not None and self.cpu_quota < SMALLEST_QUOTA:
            raise ValueError("`cpu_quota` is 1% of a CPU or more")
        return self


class ProcessNode(HostedNode):
    """A node whose programs are processes of this machine's kernel."""

    capabilities: list[Capability] | None = Field(
        None,
        description="Capabilities that the node's programs have in addition to those of every "
        "node, such as sys_admin.",
    )


class ImageNode(HostedNode):
    """A node that may have the user's root file system."""

    image: str | None = Field(
        None,
        description="The root file system. lxc: a folder. docker: the name of an image, or a tar "
        "file of a root file system or of one saved image. qemu: a disk image with ext4, which is "
        "never written to.",
    )

    @model_validator(mode="after")
    def _one_image(self) -> Self:
        if self.packages and self.image is not None:
            raise ValueError("`packages` go into delaylab's own image, and `image` is another one")
        return self


class KernelNode(HostedNode):
    """A node with a kernel of its own, which the user may choose."""

    virtual_machine = True
    own_root = True
    memory: Memory = None
    kernel: str | None = Field(
        None, description="The kernel that the virtual machine boots: the path of a file."
    )
    initrd: str | None = Field(
        None,
        description="The initramfs that the virtual machine boots: the path of a file. The agent "
        "is added to it and becomes its init.",
    )


class NativeNode(ProcessNode):
    """A node of plain processes of its host."""

    own_stack = False
    kind: Literal["native"]


class SharedNode(ProcessNode):
    """A node isolated from its host except for the network."""

    own_stack = False
    kind: Literal["shared"]


OF_SYSTEMS = (
    "files",
    "env",
    "start",
    "forwards",
    "loopback",
    "routes",
    "packages",
    "capabilities",
    "nat",
)
"""The fields of nodes that are systems of the lab, on which programs run."""


class NetnsNode(ProcessNode):
    """A node with a network namespace."""

    kind: Literal["netns"] = "netns"
    interface: InterfaceName | None = Field(
        None,
        description="A network interface of this machine, such as eth1. The node is then no system "
        "of the lab but what is behind that interface: see docs/kinds/netns.md.",
    )

    nat: bool | None = Field(
        None,
        description="Let the node reach what this machine reaches, by address translation in user "
        "space (slirp4netns): see docs/kinds/netns.md.",
    )

    @property
    def outside(self) -> str | None:
        """Return the machine's interface that this node stands for; None for an ordinary node."""
        return self.interface

    @property
    def leads_outside(self) -> bool:
        """Return True if the node has a way outside by address translation."""
        return bool(self.nat)

    @model_validator(mode="after")
    def _one_way_outside(self) -> Self:
        if self.nat and any(route.to == DEFAULT for route in self.routes):
            raise ValueError("`nat` is the node's default route: leave its own out")
        return self

    @model_validator(mode="after")
    def _nothing_runs_outside(self) -> Self:
        if self.interface is None:
            return self
        given = next((name for name in OF_SYSTEMS if getattr(self, name)), None)
        others = {"routing": self.has_daemons, "count": self.count is not None}
        what = given or next((name for name, is_given in others.items() if is_given), None)
        if what is not None:
            raise ValueError(
                f"`{what}` means nothing to a node that is an interface of this machine"
            )
        return self


class ContainerNode(ProcessNode, ImageNode):
    """A container."""

    container = True
    own_root = True
    memory: Memory = None


class LxcNode(ContainerNode):
    """A container by LXC."""

    kind: Literal["lxc"]


class DockerNode(ContainerNode):
    """A container by a Docker engine."""

    kind: Literal["docker"]


class QemuNode(KernelNode, ImageNode):
    """A virtual machine by QEMU."""

    carrier = "monitor"
    emulated = True
    mechanisms = OF_MACHINE
    kind: Literal["qemu"]
    vcpus: Vcpus = 1
    scratch: bool = Field(
        False,
        description="Give the virtual machine a disk of 1 GiB at /var/tmp, to which `disk` loads "
        "then write. What is written to it is kept in this machine's /var/tmp as long as the node "
        "runs; elsewhere a guest writes to its memory.",
    )
    pin: Cpus | None = Field(
        None, description="For each virtual CPU, the CPU that its thread is pinned to."
    )
    accel: Literal["auto", "kvm", "tcg"] = Field(
        "auto",
        description="The accelerator: `kvm`, `tcg` (software emulation), or `auto`: KVM if a "
        "guest boots on it here, else TCG.",
    )
    nic: Literal["virtio", "vmxnet3", "e1000", "e1000e", "rtl8139"] = Field(
        "virtio", description="The model of the virtual machine's network card."
    )
    machine: Literal["pc", "microvm"] = Field(
        "pc", description="The machine type: `pc`, or `microvm` without a PCI bus."
    )

    @model_validator(mode="after")
    def _one_machine(self) -> Self:
        if self.pin is not None and len(self.pin) != self.vcpus:
            raise ValueError(f"`pin` names {len(self.pin)} CPUs for {self.vcpus} vcpus")
        if self.machine == "microvm" and self.nic != "virtio":
            raise ValueError(f"a microvm has no PCI bus for nic {self.nic!r}; it takes virtio")
        return self


class UmlNode(KernelNode):
    """A User-Mode Linux."""

    carrier = "agent"
    mechanisms = OF_OWN_KERNEL
    kind: Literal["uml"]


class XenNode(NodeSpec):
    """A Xen domain."""

    carrier = None
    virtual_machine = True
    own_root = True
    emulated = True
    mechanisms = OF_MACHINE
    kind: Literal["xen"]
    memory: Memory = None
    vcpus: Vcpus = 1
    guest: Literal["pv", "pvh"] = Field(
        "pv",
        description="The type of Xen domain: `pv` is paravirtualised, `pvh` uses the hardware.",
    )


def name_of(node: type[NodeSpec]) -> str:
    """Return the name of a kind."""
    return str(get_args(node.model_fields["kind"].annotation)[0])


FACTS: dict[str, type[NodeSpec]] = {
    name_of(variant): variant for variant in NodeSpec.variants() if issubclass(variant, NodeSpec)
}
"""The class of each kind, by its name."""
FIELDS_OF_KINDS = {
    field: frozenset(kind for kind, each in FACTS.items() if field in each.model_fields)
    for field in all_fields(NodeSpec).keys() - NodeSpec.model_fields.keys()
}
"""Each field of a node that is not for every kind -> the kinds that it is for."""


def facts_of(kind: str | None) -> type[NodeSpec]:
    """Return what is true of a kind; of one that only another version knows, the usual."""
    return FACTS.get(kind or "", NodeSpec)
