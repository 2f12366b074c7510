"""Models of a lab file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from delaylab.spec.base import Cpus, LinkCost, Name, Shorthand, Spec, no_items
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.devices import End, device_of, node_of
from delaylab.spec.kinds import NodeSpec
from delaylab.spec.machine import MachineSpec
from delaylab.spec.placing import InterfaceSpec, PlacementSpec
from delaylab.spec.routing.model import RoutingSpec
from delaylab.spec.sysctls import Sysctl, SysctlValue
from delaylab.spec.this_machine import HERE
from delaylab.spec.timeline.model import MomentSpec
from delaylab.units import Rate, Size

IpVersion = Literal[4, 6]
Routes = Literal["shortest", "none"]
AddressesBy = Literal["names", "places"]
DataPlane = Literal["vxlan", "ethernet"]
VXLAN_PORT = 4789
"""The UDP port of VXLAN (RFC 7348, section 5)."""
Spoken = bool | Literal["passive"]
"""The part of routers in a protocol on a link; `passive` announces its network alone."""
Protocol = Literal["ospf", "isis"]
"""The protocols whose part in a link a file may change."""


class UplinkSpec(Spec):
    """The uplink of a host: a token bucket with a bounded queue."""

    rate: Rate = Field(
        description="The rate limit. A frame counts from its Ethernet header on, without "
        "preamble, check sequence and gap."
    )
    queue: int = Field(
        1000,
        gt=0,
        le=10_000_000,
        description="The largest number of full-size frames that wait for the rate; frames beyond "
        "it are dropped.",
    )
    burst: Size = Field(
        Size(16 * 1024),
        description="The size of the token bucket: the bytes that may leave at once.",
    )


class EngineSpec(Shorthand):
    """The link engine of a host, which carries its links with conditions."""

    MAIN: ClassVar[str] = "kind"
    kind: Literal["auto", "own", "kernel"] = Field(
        "auto",
        description="`own` is delaylab's engine in user space, `kernel` is the kernel's netem, "
        "TBF and bridges; `auto` takes `own`.",
    )
    memory: Size = Field(
        Size(256 << 20), description="The memory for frames that wait or are under way."
    )
    realtime: bool = Field(
        True, description="Run the engine with real-time scheduling, if the machine allows it."
    )
    cpus: Cpus | None = Field(
        None, description="The CPUs that the engine may use. A CPU for it alone is best."
    )
    steer: bool = Field(
        False,
        description="Let the nodes' network stacks receive on other CPUs than the engine's "
        "(receive packet steering).",
    )


class XenSpec(Spec):
    """The emulated machine that Xen and a host's domains run in, where this machine is no dom0."""

    cpus: int = Field(
        2, ge=1, le=64, description="The number of virtual CPUs of the machine, and so of Xen."
    )
    scheduler: Literal["credit", "credit2", "null", "rtds"] = Field(
        "credit2", description="Xen's scheduler of domains (its boot parameter `sched`)."
    )


class HostSpec(Spec):
    """A network namespace that carries nodes, on this machine or another one."""

    machine: Name | None = Field(
        None, description="The machine that the host is on (`machines`); left out, this one."
    )
    uplink: UplinkSpec | None = Field(
        None, description="The rate and queue of the host's uplinks; left out, they have no limit."
    )
    engine: EngineSpec | None = Field(
        None, description="The settings in which this host's link engine differs from the lab's."
    )
    cpus: Cpus | None = Field(
        None, description="The CPUs that the processes of the host and of its nodes may use."
    )
    xen: XenSpec | None = Field(None, description="The emulated machine of the host's Xen domains.")
    nodes: int | None = Field(
        None, ge=1, description="The most nodes that a placement (`place`) puts on the host."
    )
    interfaces: dict[Name, InterfaceSpec] = Field(
        default_factory=dict,
        description="The interfaces towards other hosts, each with its rate, which the links that "
        "leave the host share. Links are divided among them by their `bandwidth`, unless they name "
        "one.",
    )
    across: Literal["always"] | None = Field(
        None,
        description="With `always`, traffic between nodes of this host leaves by one of its "
        "interfaces and comes back by another one. Left out, it stays on the host.",
    )


class LinkSpec(ConditionsSpec):
    """A link between two nodes (`between`) or among many (`join`).

    Its conditions hold in each direction.
    """

    join: list[End] | None = Field(
        None,
        min_length=1,
        description="The nodes that a broadcast link joins. One node alone is on a network where "
        "nobody else is. `r1:eth1` also names the node's interface.",
    )
    between: tuple[End, End] | None = Field(
        None,
        description="The two nodes that a point-to-point link joins. If one of them has a "
        "`count:`, each of its nodes gets a link of its own. If both have the same `count:`, the "
        "first is joined to the first, the second to the second, and so on. `NAME-2` names the "
        "second node only. `r1:eth1` also names the node's interface.",
    )
    name: Name | None = Field(
        None,
        description="The link's name, and that of its nodes' interfaces to it, unless `between` or "
        "`join` names them. Left out, it is made of its members: `a-b`, of `join` `lan-a`; for a "
        "second link of the same, `a-b-2`.",
    )
    mtu: int | None = Field(
        None,
        ge=1280,
        le=65535,
        description="The maximum transmission unit of the link, in bytes. Left out, it is the "
        "lab's.",
    )
    cost: LinkCost | dict[Name, LinkCost] = Field(
        1,
        description="The cost of crossing the link, 1 to 65535. Routes take the path of the least "
        "total cost. `{r1: 10, r2: 100}` is that of each end for what it sends, where routing "
        "daemons set the routes; a node that is not named has 1.",
    )
    bandwidth: Rate | None = Field(
        None,
        description="The rate that the link needs in each direction, for deciding which machine "
        "carries which node. It is not enforced; `rate` is.",
    )
    interfaces: dict[Name, Name] = Field(
        default_factory=dict,
        description="The interface by which the link leaves a host, by the host's name; for other "
        "hosts one is chosen.",
    )
    addresses: dict[Name, str | list[str]] = Field(
        default_factory=dict,
        description="The address with prefix of each node on this link, such as 10.1.0.1/24, or "
        "one of each IP version: `[10.1.0.1/24, 2001:db8::1/64]`. Left out, they are assigned, by "
        "the names of link and node.",
    )
    unnumbered: bool = Field(
        False,
        description="Give the link no network: each end has the IPv4 address of its router's "
        "loopback, and of IPv6 a link-local one alone. Of a link with `between` whose two routers "
        "speak OSPF by FRR.",
    )
    ospf: Spoken | dict[Name, Spoken] = Field(
        default=True,
        description="`false`: routers do not speak OSPF on this link, and do not announce its "
        "network. `passive`: they announce its network and send no hello packets. `{r1: passive}` "
        "is of the end of one router.",
    )
    isis: Spoken | dict[Name, Spoken] = Field(default=True, description="The same of IS-IS.")
    sent_from: dict[Name, ConditionsSpec] = Field(
        default_factory=dict,
        alias="from",
        description="Conditions for one direction only: those of the packets that this node sends.",
    )
    received_by: dict[Name, ConditionsSpec] = Field(
        default_factory=dict,
        alias="to",
        description="Conditions at the receiver: what this node receives from the link passes them "
        "after those of its sender, as with a radio. Each receiver has its own.",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> LinkSpec:
        if (self.join is None) == (self.between is None):
            raise ValueError("a link has either `join` (many nodes) or `between` (two nodes)")
        return self

    @property
    def is_conditioned(self) -> bool:
        """Return True if the link has conditions from the start."""
        return bool(self.says_conditions() or self.sent_from or self.received_by)

    @property
    def field(self) -> Literal["join", "between"]:
        """Return the field that names the nodes that the link joins."""
        return "between" if self.join is None else "join"

    @property
    def ends(self) -> list[str]:
        """Return the nodes that the link joins, each with the interface that the file names."""
        return list(self.join or self.between or ())

    @property
    def members(self) -> list[str]:
        """Return the nodes that the link joins."""
        return [node_of(end) for end in self.ends]

    @property
    def devices(self) -> dict[str, str]:
        """Return the names of interfaces that the file gives, by node."""
        return {node_of(end): device for end in self.ends if (device := device_of(end))}

    @property
    def is_pair(self) -> bool:
        """Return True if it is a point-to-point link."""
        return self.between is not None

    @property
    def given_addresses(self) -> dict[str, list[str]]:
        """Return the addresses that the file gives, by node."""
        return {
            node: [given] if isinstance(given, str) else given
            for node, given in self.addresses.items()
        }

    def cost_of(self, node: str) -> int:
        """Return the cost of what a node sends over the link."""
        return cost_of(self.cost, node)

    def spoken(self, protocol: Protocol, node: str) -> Spoken:
        """Return whether a node speaks a protocol on this link."""
        return spoken(self.ospf if protocol == "ospf" else self.isis, node)


def cost_of(said: int | Mapping[str, int], node: str) -> int:
    """Return the cost of a node's end of a link, by the entry `cost` of the link."""
    return said.get(node, 1) if isinstance(said, Mapping) else said


def spoken(said: Spoken | Mapping[str, Spoken], node: str) -> Spoken:
    """Return whether a node speaks a protocol, by an entry of a link such as `ospf`."""
    return said.get(node, True) if isinstance(said, Mapping) else said


class LabSpec(Spec):
    """A lab: hosts, nodes and links."""

    lab: Name = Field(description="The name of the lab.")
    machines: dict[Name, MachineSpec] = Field(
        default_factory=dict,
        description="Other machines that carry hosts of the lab, by name.",
    )
    data_plane: DataPlane = Field(
        "vxlan",
        description="How frames get from one machine to another: `vxlan` puts them into UDP, which "
        "any network carries; `ethernet` sends them as they are, on a LAN that the machines share.",
    )
    vxlan_port: int = Field(
        VXLAN_PORT,
        ge=1,
        le=65535,
        description="The UDP port of `data_plane: vxlan`, which firewalls between the machines "
        "must let through.",
    )
    hosts: dict[Name, HostSpec] = Field(
        default_factory=dict,
        description="The hosts by name; left out, there is one host, this machine.",
    )
    nodes: dict[Name, NodeSpec] = Field(min_length=1, description="The nodes by name.")
    links: list[LinkSpec] = Field(
        default_factory=no_items, description="The links that join the nodes."
    )
    mtu: int | None = Field(
        None,
        ge=1280,
        le=65535,
        description="The maximum transmission unit of links that state none, in bytes. Left out, "
        "it is 1500. A link between machines then has what their cards and the tunnel leave, if "
        "that is less: 1450 of 1500.",
    )
    ip: list[IpVersion] = Field(
        default=[4], min_length=1, description="The IP versions that nodes get addresses of."
    )
    addresses: AddressesBy = Field(
        "names",
        description="What decides the addresses that are assigned. `names`: those of link and node "
        "alone. `places`: where the nodes are, if they have a longitude and a latitude; networks "
        "that are near have near addresses, and a lab of 150 routers or more needs fewer routes.",
    )
    routes: Routes | None = Field(
        None,
        description="`shortest` sets routes over the least `cost` of links, which are the fewest "
        "links if none has a cost; `none` sets no routes. Left out, it is `shortest`; in a lab "
        "with `routing` only nodes that are no routers get routes.",
    )
    routing: RoutingSpec | None = Field(
        None,
        description="The routing daemons of all nodes with `forwards: true`. `up` returns once "
        "their routes are right.",
    )
    place: PlacementSpec | None = Field(
        None,
        description="Where nodes without a `host` go: a method chooses, by the links' `bandwidth`, "
        "or else their rate.",
    )
    multipath: bool = Field(
        False,
        description="Let routes use all paths of the least cost: the kernel sends the packets of a "
        "flow over one of them, by its addresses and ports. Left out, the first is taken. Daemons "
        "use all.",
    )
    engine: EngineSpec = Field(
        EngineSpec.model_validate("auto"),
        description="The link engine that carries links with conditions.",
    )
    timeline: list[MomentSpec] = Field(
        default_factory=no_items,
        description="Changes of links' conditions, and events of links and nodes, at set times.",
    )
    sysctls: dict[Sysctl, SysctlValue] = Field(
        default_factory=dict,
        description="Settings of the kernel in every network of the lab, such as "
        "`net.ipv4.tcp_limit_output_bytes: 131072`. This machine's own stack keeps its own. "
        "Without `net.ipv4.tcp_congestion_control` networks have the machine's (`cubic`, `bbr` on "
        "some), which each trial records.",
    )
    seed: int = Field(
        1,
        ge=0,
        lt=2**63,
        description="The seed of the random numbers that decide loss, jitter and the like.",
    )

    @property
    def wants_hosts(self) -> bool:
        """Return True if the lab asks for hosts of nodes that name none."""
        return self.place is not None and any(node.host is None for node in self.nodes.values())

    def host_of(self, node: str) -> str:
        """Return the name of the host that carries a node."""
        return self.nodes[node].host or next(iter(self.hosts), HERE)

    def cpus_of(self, node: str) -> list[int] | None:
        """Return the CPUs that a node may use: its own, or its host's; None if it may use all."""
        host = self.hosts.get(self.host_of(node))
        return self.nodes[node].cpus or (host.cpus if host else None)

    def engine_on(self, host: str) -> EngineSpec:
        """Return the engine settings of a host: the lab's, overridden by the host's own."""
        return engine_on(self.engine, self.hosts.get(host))


def engine_on(of_lab: EngineSpec, host: HostSpec | None) -> EngineSpec:
    """Return the engine settings of a host: the lab's, overridden by the host's own."""
    if host is None or host.engine is None:
        return of_lab
    said = {**of_lab.model_dump(mode="json"), **host.engine.model_dump(mode="json")}
    return EngineSpec.model_validate(said)
