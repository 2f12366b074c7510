"""Models of a lab file."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from delaylab.spec.base import Cpus, Name, Shorthand, Spec
from delaylab.spec.capabilities import Capability
from delaylab.spec.conditions import ConditionsSpec
from delaylab.units import Duration, Rate, Size

NodeKind = Literal["native", "shared", "netns", "lxc", "docker", "qemu", "uml", "xen"]
IpVersion = Literal[4, 6]
Routes = Literal["shortest", "none"]
Accel = Literal["auto", "kvm", "tcg"]
Nic = Literal["virtio", "vmxnet3", "e1000", "e1000e", "rtl8139"]
MachineType = Literal["pc", "microvm"]


class UplinkSpec(Spec):
    """The uplink of a host: a token bucket with a bounded queue."""

    rate: Rate = Field(description="bits per second on the link, Ethernet framing excluded")
    queue: int = Field(
        1000, gt=0, le=10_000_000, description="packets that may wait, of a full frame each"
    )
    burst: Size = Field(Size(16 * 1024), description="bytes that may leave at once")


class EngineSpec(Shorthand):
    """The link engine of a host, which carries its links with conditions."""

    MAIN: ClassVar[str] = "kind"
    kind: Literal["auto", "own", "kernel"] = Field(
        "auto", description="own: delaylab's; kernel: netem and its like"
    )
    memory: Size = Field(Size(256 << 20), description="bytes of packets that may wait at once")
    realtime: bool = Field(True, description="real-time scheduling, where the machine allows it")
    cpus: Cpus | None = Field(None, description="CPUs for it alone are best")
    steer: bool = Field(
        False, description="nodes receive on other CPUs than its own (receive packet steering)"
    )


class HostSpec(Spec):
    """A machine that carries nodes, in this case a network namespace that stands for one."""

    uplink: UplinkSpec | None = None
    engine: EngineSpec | None = Field(None, description="what differs from the lab's")
    cpus: Cpus | None = Field(None, description="CPUs that the host and its nodes may use")


CONTAINERS = frozenset({"lxc", "docker"})
MACHINES = frozenset({"qemu", "uml", "xen"})
OWN_KERNEL = frozenset({"qemu", "uml"})
"""Kinds that accept a kernel of the user's; a Xen domain's is in its driver domain's image."""
PROCESSES = frozenset({"native", "shared", "netns"})
"""Kinds whose nodes are processes of this machine's kernel, without a container around them."""
FIELDS_OF_KINDS = {
    "capabilities": PROCESSES | CONTAINERS,
    "memory": CONTAINERS | MACHINES,
    "cpu_weight": frozenset({"lxc", "docker"}),
    "image": CONTAINERS | {"qemu"},
    "kernel": OWN_KERNEL,
    "initrd": OWN_KERNEL,
    "vcpus": frozenset({"qemu", "xen"}),
    "pin": frozenset({"qemu"}),
    "accel": frozenset({"qemu"}),
    "nic": frozenset({"qemu"}),
    "machine": frozenset({"qemu"}),
    "guest": frozenset({"xen"}),
}
"""A map from fields of a node to the kinds that they apply to."""


class NodeSpec(Spec):
    """An emulated system."""

    kind: NodeKind = "netns"
    host: Name | None = None
    cpus: Cpus | None = Field(None, description="CPUs that the node may use")
    count: int | None = Field(
        None, ge=0, le=1000, description="so many nodes like this: NAME-1, NAME-2 …"
    )
    memory: Size | None = Field(None, description="of a virtual machine; a container's limit")
    cpu_weight: int | None = Field(
        None, ge=1, le=10_000, description="a container's share of contended CPUs; 100 is usual"
    )
    image: str | None = Field(
        None,
        description="its root file system (lxc: folder; docker: image name, or a tar; qemu: disk "
        "image with ext4, never written to)",
    )
    kernel: str | None = Field(None, description="a virtual machine's kernel file")
    initrd: str | None = Field(
        None, description="its initramfs; the agent is added to it, and must be its init"
    )
    vcpus: int | None = Field(None, ge=1, le=64, description="virtual CPUs")
    pin: Cpus | None = Field(None, description="a CPU for each virtual CPU")
    accel: Accel | None = Field(None, description="auto: KVM if it boots here, else TCG")
    nic: Nic | None = None
    machine: MachineType | None = None
    guest: Literal["pv", "pvh"] | None = Field(None, description="kind of Xen guest")
    capabilities: list[Capability] | None = Field(
        None, description="what its programs may do besides the usual, such as sys_admin"
    )
    forwards: bool = Field(False, description="a router: its kernel forwards between its links")

    @model_validator(mode="after")
    def _fields_of_its_kind(self) -> NodeSpec:
        for name, kinds in FIELDS_OF_KINDS.items():
            if getattr(self, name) is not None and self.kind not in kinds:
                raise ValueError(
                    f"`{name}` means nothing to kind {self.kind!r}; it is for "
                    f"{', '.join(sorted(kinds))}"
                )
        if self.pin is not None and len(self.pin) != (self.vcpus or 1):
            raise ValueError(f"`pin` names {len(self.pin)} CPUs for {self.vcpus or 1} vcpus")
        if self.machine == "microvm" and self.nic not in (None, "virtio"):
            raise ValueError(f"a microvm has no PCI bus for nic {self.nic!r}; it takes virtio")
        return self


class LinkSpec(ConditionsSpec):
    """A link between two nodes (`between`) or among many (`join`).

    Its conditions hold in each direction.
    """

    join: list[Name] | None = Field(None, min_length=2, description="broadcast: its members")
    between: tuple[Name, Name] | None = Field(None, description="point-to-point: its two ends")
    name: Name | None = None
    mtu: int = Field(1500, ge=1280, le=65535)
    addresses: dict[Name, str] = Field(
        default_factory=dict, description="node -> address with prefix, e.g. 10.1.0.1/24"
    )
    sent_from: dict[Name, ConditionsSpec] = Field(
        default_factory=dict, alias="from", description="node -> what holds for what it sends"
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> LinkSpec:
        if (self.join is None) == (self.between is None):
            raise ValueError("a link has either `join` (many nodes) or `between` (two nodes)")
        return self

    @property
    def members(self) -> list[str]:
        """Return the nodes that the link joins."""
        return list(self.join or self.between or ())


class ChangeSpec(Spec):
    """A change of a link's conditions while the lab runs; conditions that it does not name stay."""

    at: Duration = Field(description="from the lab's start; in a trial from the load's")
    link: Name
    node: Name | None = Field(None, description="only what this member sends")
    conditions: ConditionsSpec = Field(alias="set")


class LabSpec(Spec):
    """A lab: hosts, nodes and links."""

    lab: Name
    hosts: dict[Name, HostSpec] = Field(
        default_factory=dict, description="left out: one host, this machine"
    )
    nodes: dict[Name, NodeSpec] = Field(min_length=1)
    links: list[LinkSpec] = Field(default_factory=list)
    ip: list[IpVersion] = Field(default=[4], min_length=1, description="address families")
    routes: Routes = Field(
        "shortest", description="over nodes that forward: the fewest links; or none are set"
    )
    engine: EngineSpec = EngineSpec.model_validate("auto")
    timeline: list[ChangeSpec] = Field(default_factory=list)
    seed: int = Field(1, ge=0, lt=2**63, description="of what links draw: loss, jitter, …")

    def engine_on(self, host: str) -> EngineSpec:
        """Return the engine settings of a host: the lab's, overridden by the host's own."""
        own = self.hosts[host].engine if host in self.hosts else None
        if own is None:
            return self.engine
        said = {**self.engine.model_dump(mode="json"), **own.model_dump(mode="json")}
        return EngineSpec.model_validate(said)
