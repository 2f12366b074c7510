"""A plan: the agents to start and the operations between them, as in `docs/protocol.md`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from delaylab.io.values import Json, JsonObject
from delaylab.plan.cabling.outward import Outward, outward_message
from delaylab.plan.kept import KeptPlan
from delaylab.resolve.agent_names import NEW, AgentName, Network
from delaylab.routing.node_programs import NodePrograms

if TYPE_CHECKING:
    from delaylab.plan.conditions.engine_links import EngineLinks

Reach = Literal["stream", "folder", "nothing"]
"""The way of sessions to the agent inside of a guest: a stream, a folder, or none."""
Unreached = Literal["blackhole", "unreachable", "prohibit"]
"""Kinds of routes for packets that are not sent on (ip-route(8))."""


@dataclass(frozen=True)
class Guest:
    """A container or virtual machine with an agent inside; the agent of the plan is its monitor.

    The words of `command` may hold `{image:NAME/FILE}`, `{accel:WHICH}`, `{vhost}` and references
    to files of this machine (`plan/references.py`), which are filled in when the lab starts, and
    the placeholders that the monitor fills in (docs/protocol.md). `setup` configures the system in
    a virtual machine, by its agent.
    """

    reach: Reach
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    deadline_ms: int = 60_000
    setup: Mapping[str, object] | None = None
    pin: tuple[int, ...] = ()


@dataclass(frozen=True)
class RealInterface:
    """An interface of this machine, and the card and MTU of the node that it is."""

    name: str
    card: str
    mtu: int


@dataclass(frozen=True)
class Nat:
    """The way outside of a node's agent `of`: its new interface, and whether others may use it."""

    of: str
    card: str
    forwards: bool


@dataclass(frozen=True)
class Agent:
    """One agent process.

    `network` is one of its own, or that of an earlier agent.
    `cpu_quota_us` is the CPU time that it may use in each 100 ms. `own_folders` are those of this
    machine of which it has a copy of its own. `capabilities` are those that the
    programs it starts may have; None means all that delaylab has.
    """

    name: AgentName
    network: Network = NEW
    isolate: tuple[str, ...] = ()
    hostname: str | None = None
    cpus: tuple[int, ...] | None = None
    cgroup: bool = False
    cpu_weight: int | None = None
    cpu_quota_us: int | None = None
    sysctls: dict[str, str] = field(default_factory=dict)
    own_folders: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] | None = None
    guest: Guest | None = None
    links: EngineLinks | None = None
    interface: RealInterface | None = None
    nat: Nat | None = None


@dataclass(frozen=True)
class VethEnd:
    """One end of a veth pair; `agent` is the agent in whose network it is."""

    agent: str
    name: str
    mac: str
    mtu: int = 1500


@dataclass(frozen=True)
class Veth:
    """A virtual Ethernet cable."""

    ends: tuple[VethEnd, VethEnd]


@dataclass(frozen=True)
class TapDevice:
    """The cable of a virtual machine: the host's end, and the network card in the machine."""

    host: VethEnd
    card: VethEnd


@dataclass(frozen=True)
class DomainCable:
    """The cable of a Xen domain, made when the domain starts.

    Its end `vif` is on `bridge` in the network of agent `machine`: the machine that the domain is
    in, or on a machine that is a dom0 the domain's host.
    """

    machine: str
    bridge: str
    vif: str
    card: VethEnd


@dataclass(frozen=True)
class Bridge:
    """A software switch with ports.

    `macs` are the MAC addresses of the lab's nodes behind each port. They stay there, whatever
    frames come by other ports.
    """

    agent: str
    name: str
    mac: str
    ports: tuple[str, ...]
    macs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Address:
    """An address with its prefix on an interface."""

    agent: str
    on: str
    address: str


@dataclass(frozen=True)
class Queue:
    """A token bucket (TBF): rate, bytes that may leave at once, bytes that may wait."""

    agent: str
    on: str
    rate_bps: int
    burst_bytes: int
    limit_bytes: int


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The rate that interfaces share: a token bucket for all that leaves by those in `of`.

    `name` is the interface in whose queue their frames wait.
    """

    agent: str
    name: str
    mac: str
    mtu: int
    of: tuple[str, ...]
    rate_bps: int
    burst_bytes: int
    limit_bytes: int


@dataclass(frozen=True)
class Offloads:
    """Segmentation and checksum offloads of an interface, all on or all off."""

    agent: str
    on: str
    enabled: bool


@dataclass(frozen=True)
class Steering:
    """Receive packet steering of an interface: packets are processed on CPUs not in `avoid`."""

    agent: str
    on: str
    avoid: tuple[int, ...]


@dataclass(frozen=True)
class Neighbours:
    """A number of times that a stack asks for a neighbour before it gives up, once a second."""

    agent: str
    on: str
    tries: int


@dataclass(frozen=True)
class Resolved:
    """A neighbour's address, whose MAC address need not be asked for."""

    agent: str
    on: str
    address: str
    mac: str


@dataclass(frozen=True)
class Route:
    """Routes to networks by a gateway's address; by several, packets are shared out by flow.

    `on` is the interface, which else follows from the gateway. `kind` is `blackhole`, `unreachable`
    or `prohibit` for packets that are not sent on.
    """

    agent: str
    to: tuple[str, ...]
    via: tuple[str, ...]
    on: str | None = None
    metric: int | None = None
    kind: Unreached | None = None


Operation = (
    Veth
    | TapDevice
    | DomainCable
    | Bridge
    | Outward
    | Address
    | Queue
    | Capacity
    | Offloads
    | Steering
    | Neighbours
    | Resolved
    | Route
)


@dataclass(frozen=True)
class Plan(KeptPlan):
    """The plan by which a lab is built; `operations` make its network, in order.

    `daemons` are the files and programs of routers with routing daemons, by node.
    """

    agents: tuple[Agent, ...] = ()
    operations: tuple[Operation, ...] = ()
    daemons: Mapping[str, NodePrograms] = field(default_factory=dict)

    def message(self) -> JsonObject:
        """Return the plan in the form that `delaylab-agent fabric` reads."""
        return {
            "lab": self.lab,
            "agents": [_agent(agent) for agent in self.agents],
            "operations": [
                operation_message(operation)
                for operation in self.operations
                if not isinstance(operation, DomainCable)
            ],
            "names": [{"address": one.address, "names": list(one.names)} for one in self.names],
        }


def operation_message(operation: Operation) -> JsonObject:
    """Return one operation in the fabric's form."""
    if isinstance(operation, Veth):
        ends = [_renamed(vars(end)) for end in operation.ends]
        return {"do": "veth", "ends": ends}
    if isinstance(operation, TapDevice):
        return {"do": "tap", **_renamed(vars(operation.host))}
    if isinstance(operation, DomainCable):
        return {
            "do": "inner",
            "in": operation.machine,
            "name": operation.vif,
            "bridge": operation.bridge,
            "node": operation.card.agent,
        }
    if isinstance(operation, Outward):
        return outward_message(operation)
    message: dict[str, Json] = {"do": type(operation).__name__.lower()}
    if isinstance(operation, Bridge):
        macs = {port: list(of_port) for port, of_port in operation.macs.items()}
        fields = _renamed(vars(operation))
        return {**message, **fields, "ports": list(operation.ports), "macs": macs}
    for key, value in vars(operation).items():
        if value is not None:
            message[_key(key)] = list(value) if isinstance(value, tuple) else value
    return message


def _renamed(fields: JsonObject) -> JsonObject:
    return {_key(key): value for key, value in fields.items()}


def _key(field: str) -> str:
    return "in" if field == "agent" else field


def _agent(agent: Agent) -> JsonObject:
    fields = {key: value for key, value in vars(agent).items() if value is not None}
    if agent.guest is not None:
        fields["guest"] = vars(agent.guest)
    if agent.links is not None:
        fields["links"] = agent.links.message()
    if agent.interface is not None:
        fields["interface"] = vars(agent.interface)
    if agent.nat is not None:
        fields["nat"] = vars(agent.nat)
    return fields
