"""A lab as it is once its file is resolved: every name, condition and address is worked out.

All rooms but `spec`, which reads files, take labs in this form alone. Entries of the file that no
other part of it changes are kept as the file's models: `nodes`, `hosts`, `machines`, `engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from delaylab.spec.conditions.engine import NOTHING, Conditions, LinkState
from delaylab.spec.kinds import NodeSpec
from delaylab.spec.lab import (
    AddressesBy,
    DataPlane,
    EngineSpec,
    HostSpec,
    IpVersion,
    LabSpec,
    Protocol,
    Routes,
    Spoken,
    cost_of,
    engine_on,
    spoken,
)
from delaylab.spec.machine import MachineSpec
from delaylab.spec.placing import PlacementSpec
from delaylab.spec.routing.model import RoutingSpec
from delaylab.spec.this_machine import HERE, LOCAL_MACHINE
from delaylab.spec.timeline.model import ChangeSpec, EventSpec, MomentSpec, NodeEventSpec

Deed = Literal["freeze", "continue", "kill", "start"]
"""A thing that is done to a node's programs."""
End = tuple[str, str]
"""A node, and a link that it is on."""


@dataclass(frozen=True)
class DirectionChange:
    """A change of one direction by the timeline, and the conditions after it.

    `change` has the fields that are set; None removes one. `place` orders all changes of a lab.
    """

    at_ns: int
    place: int
    change: Conditions
    after: Conditions


@dataclass(frozen=True)
class Direction:
    """One direction of a link, of what a member sends or receives: conditions, and changes."""

    first: Conditions = NOTHING
    changes: tuple[DirectionChange, ...] = ()

    @property
    def every(self) -> Iterable[Conditions]:
        """Yield the conditions from the start, and those after each change."""
        yield self.first
        for each in self.changes:
            yield each.after


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link between two nodes, or among many (`is_pair` is False).

    `received` has the conditions that frames for a member pass after those of their sender, of the
    members that have such from the start or get them by the timeline. `addresses` are those of the
    members' ends, with prefix. `mtu` is in bytes; where the file states none, `up` may know better.
    `bandwidth_bps` is for placement alone. `interfaces` are those by which it leaves hosts, as the
    file names them. `devices` are the names of members' interfaces that the file chooses.
    `conditioned` is True for a link with conditions, which an engine carries. The ends of one that
    is `unnumbered` have the addresses of their routers' loopbacks.
    """

    name: str
    members: tuple[str, ...]
    is_pair: bool
    mtu: int
    mtu_stated: bool
    cost_by_end: int | Mapping[str, int]
    bandwidth_bps: int | None
    interfaces: Mapping[str, str]
    sent: Mapping[str, Direction]
    received: Mapping[str, Direction]
    conditioned: bool
    speaks: Mapping[Protocol, Spoken | Mapping[str, Spoken]]
    devices: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unnumbered: bool = False

    @property
    def cost(self) -> int:
        """Return the cost of crossing the link; of ends that differ, the largest."""
        said = self.cost_by_end
        return said if isinstance(said, int) else max(map(self.cost_of, self.members))

    def cost_of(self, node: str) -> int:
        """Return the cost of what a node sends over the link."""
        return cost_of(self.cost_by_end, node)

    def spoken(self, protocol: Protocol, node: str) -> Spoken:
        """Return whether a node speaks a protocol on this link."""
        return spoken(self.speaks[protocol], node)


@dataclass(frozen=True)
class Order:
    """A thing to do to programs of a node at a time; to the node as a whole without `programs`."""

    at_ns: int
    node: str
    do: Deed
    programs: tuple[str, ...] = ()


@dataclass(frozen=True)
class CostOrder:
    """A change of the cost that a router has for a link, at a set time."""

    at_ns: int
    node: str
    link: str
    cost: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """The lab after all that happens at one time of its timeline.

    `ends` are those ends of links that are not `up`. `events` are the places in the timeline of the
    events that have a part in it: a `flap` and a `restart` have two steps. `told` are the costs of
    this time, `costs` all that differ from the file's by then.
    """

    at_ns: int
    events: tuple[int, ...] = ()
    changes: tuple[ChangeSpec, ...] = ()
    orders: tuple[Order, ...] = ()
    ends: Mapping[End, LinkState] = field(default_factory=dict)
    dead: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()
    not_running: frozenset[End] = frozenset()
    """Nodes, each with a program that was killed or frozen by itself."""
    told: tuple[CostOrder, ...] = ()
    costs: Mapping[End, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """A lab: hosts, nodes and links, by their names in order.

    `written` is the file with all of its counts, daemons and hosts written out, as records and
    datasets keep it; labs are equal if these are. `timeline` has the moments of the file, `steps`
    what they make of links and nodes. `loopbacks` are the addresses of the nodes that forward, with
    prefix.
    """

    written: LabSpec
    name: str = field(compare=False)
    machines: Mapping[str, MachineSpec] = field(compare=False)
    data_plane: DataPlane = field(compare=False)
    vxlan_port: int = field(compare=False)
    hosts: dict[str, HostSpec] = field(compare=False)
    nodes: dict[str, NodeSpec] = field(compare=False)
    links: Mapping[str, Link] = field(compare=False)
    ip: Sequence[IpVersion] = field(compare=False)
    addresses_by: AddressesBy = field(compare=False)
    routes: Routes | None = field(compare=False)
    routing: RoutingSpec | None = field(compare=False)
    place: PlacementSpec | None = field(compare=False)
    multipath: bool = field(compare=False)
    engine: EngineSpec = field(compare=False)
    timeline: Sequence[MomentSpec] = field(compare=False)
    steps: Sequence[Step] = field(compare=False)
    sysctls: Mapping[str, str] = field(compare=False)
    seed: int = field(compare=False)
    loopbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    @property
    def has_daemons(self) -> bool:
        """Return True if a node of the lab has routing daemons."""
        return self.routing is not None or any(spec.has_daemons for spec in self.nodes.values())

    @property
    def expect(self) -> str | None:
        """Return what the file expects of the routers' tables (`routing: {expect: …}`)."""
        return None if self.routing is None else self.routing.expect

    @property
    def sets_routes(self) -> bool:
        """Return True if delaylab sets the routes of all nodes."""
        return self.routes != "none" and not self.has_daemons

    @property
    def has_paths(self) -> bool:
        """Return True if packets take paths of the least cost, by whatever sets the routes."""
        return self.sets_routes or self.has_daemons

    @property
    def uses_every_path(self) -> bool:
        """Return True if routes use all paths of the least cost."""
        return self.multipath or self.has_daemons

    @property
    def routers(self) -> dict[str, RoutingSpec]:
        """Return the routing of each node with routing daemons."""
        specs = ((name, spec.routing) for name, spec in self.nodes.items())
        return {name: routing for name, routing in specs if isinstance(routing, RoutingSpec)}

    @property
    def hidden_links(self) -> frozenset[str]:
        """Return the links whose networks OSPF does not announce (RFC 6860).

        They join two routers, both of which suppress the prefixes of such links.
        """
        speaking = {name: routing.ospf for name, routing in self.routers.items() if routing.ospf}
        return frozenset(
            name
            for name, link in self.links.items()
            if all(
                node in speaking and speaking[node].hides(name, is_pair=link.is_pair)
                for node in link.members
            )
        )

    @property
    def costs(self) -> dict[str, int]:
        """Return the costs of links by name; a link that is left out costs 1."""
        return {name: link.cost for name, link in self.links.items() if link.cost != 1}

    @property
    def has_events(self) -> bool:
        """Return True if the timeline has events of links or nodes."""
        return any(isinstance(moment, EventSpec) for moment in self.timeline)

    @property
    def counts_from_ready(self) -> bool:
        """Return True if the timeline counts from when the lab's routers forward rightly."""
        return bool(self.timeline) and (
            self.has_daemons or any(isinstance(each, NodeEventSpec) for each in self.timeline)
        )

    def machine_of(self, host: str) -> str | None:
        """Return the name of the machine that a host is on; None for this machine."""
        return self.hosts[host].machine if host in self.hosts else None

    @property
    def machines_used(self) -> list[str]:
        """Return the other machines that carry hosts, in the order of the file."""
        used = {host.machine for host in self.hosts.values()}
        return [name for name in self.machines if name in used]

    def host_of(self, node: str) -> str:
        """Return the name of the host that carries a node."""
        return self.nodes[node].host or next(iter(self.hosts), HERE)

    def leaves_host(self, nodes: Iterable[str]) -> bool:
        """Return True if what these nodes send each other on a link leaves their host."""
        hosts = {self.host_of(node) for node in nodes}
        return len(hosts) > 1 or any(self.across(host) for host in hosts)

    def across(self, host: str) -> bool:
        """Return True if what nodes of a host send each other leaves it, too."""
        return host in self.hosts and self.hosts[host].across is not None

    def machines_on(self, link: Link) -> set[str]:
        """Return the machines that a link has nodes on, this one included."""
        return {self.machine_of(self.host_of(node)) or LOCAL_MACHINE for node in link.members}

    def cpus_of(self, node: str) -> list[int] | None:
        """Return the CPUs that a node may use: its own, or its host's; None if it may use all."""
        host = self.hosts.get(self.host_of(node))
        return self.nodes[node].cpus or (host.cpus if host else None)

    def engine_on(self, host: str) -> EngineSpec:
        """Return the engine settings of a host: the lab's, overridden by the host's own."""
        return engine_on(self.engine, self.hosts.get(host))

    def record(self) -> str:
        """Return the lab as JSON, as it is kept while it runs."""
        return self.written.model_dump_json(by_alias=True)

    def on_machine(self, machine: str) -> Lab:
        """Return the hosts and nodes of the lab that a machine carries, without links.

        It is for checks of what the machine has; a lab on this machine alone is returned as it is.
        """
        if not self.machines_used:
            return self
        hosts = {
            name: spec
            for name, spec in self.hosts.items()
            if (spec.machine or LOCAL_MACHINE) == machine
        }
        nodes = {name: spec for name, spec in self.nodes.items() if self.host_of(name) in hosts}
        return replace(self, hosts=hosts, nodes=nodes, links={})

    def with_mtus(self, mtus: Mapping[str, int]) -> Lab:
        """Return the lab with MTUs of links that were found on the machines, by their names."""
        fitted = {name: replace(self.links[name], mtu=mtu) for name, mtu in mtus.items()}
        return replace(self, links={**self.links, **fitted})
