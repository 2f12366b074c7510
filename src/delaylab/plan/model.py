"""A plan: which agents to start and what to build between them, as `docs/protocol.md` has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from delaylab.plan.carried import Carried
from delaylab.plan.carry import LinkPorts

NEW = "new"
MACHINE = "machine"
GUEST = "guest"
WIRE = "wire"


def host_agent(host: str) -> str:
    """The name of a host's agent."""
    return f"host.{host}"


def node_agent(node: str) -> str:
    """The name of a node's agent."""
    return f"node.{node}"


def link_agent(host: str) -> str:
    """The agent that carries a host's links with conditions, by the host's name or agent."""
    return f"link.{host.removeprefix('host.')}"


def machine_agent(host: str) -> str:
    """The agent of the machine on a host in which nodes of kind xen are, by its host's agent."""
    return f"xen.{host.removeprefix('host.')}"


@dataclass(frozen=True)
class Guest:
    """A container or virtual machine in which a second agent answers for this one, its monitor.

    `command`: its words may hold `{image:NAME/FILE}`, `{accel:WHICH}` and `{vhost}`, which are
    filled in when the lab is brought up, and what docs/protocol.md has the monitor fill in.
    `reach`: `stream`, `folder` or `nothing`. `setup`: what a virtual machine's agent makes of its
    system.
    """

    reach: str
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    deadline_ms: int = 60_000
    setup: dict[str, Any] | None = None
    pin: tuple[int, ...] = ()


@dataclass(frozen=True)
class Agent:
    """One agent process.

    `network`: `new`, `guest` (its guest brings it), `machine`, or the name of an agent before it.
    `capabilities`: what the programs that it starts may have; None for all that delaylab has.
    """

    name: str
    network: str = NEW
    isolate: tuple[str, ...] = ()
    hostname: str | None = None
    cpus: tuple[int, ...] | None = None
    cgroup: bool = False
    sysctls: dict[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] | None = None
    guest: Guest | None = None
    links: Carried | None = None


@dataclass(frozen=True)
class End:
    """One end of a veth pair; `agent` is the agent in whose network it is."""

    agent: str
    name: str
    mac: str
    mtu: int = 1500


@dataclass(frozen=True)
class Veth:
    """A virtual Ethernet cable."""

    ends: tuple[End, End]


@dataclass(frozen=True)
class Tap:
    """A virtual machine's cable: the host's end, and the card at the other, in the machine."""

    host: End
    card: End


@dataclass(frozen=True)
class Inner:
    """A Xen domain's cable, made as it starts: `vif` on `bridge` in the network of agent `machine`.

    That is the machine that the domain is in, or on a machine that is a dom0 the domain's host.
    """

    machine: str
    bridge: str
    vif: str
    card: End


@dataclass(frozen=True)
class Bridge:
    """A software switch with ports."""

    agent: str
    name: str
    mac: str
    ports: tuple[str, ...]


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


@dataclass(frozen=True)
class Offloads:
    """Segmentation and checksum offloads of an interface, all on or all off."""

    agent: str
    on: str
    enabled: bool


@dataclass(frozen=True)
class Steering:
    """Receive packet steering: the stack works on what comes by an interface on other CPUs."""

    agent: str
    on: str
    avoid: tuple[int, ...]


@dataclass(frozen=True)
class Route:
    """A way to a network, by the address of a gateway."""

    agent: str
    to: str
    via: str


Operation = Veth | Tap | Inner | Bridge | Address | Queue | Offloads | Steering | Route


@dataclass(frozen=True)
class Interface:
    """An interface of a node, in the network of `agent`: listed by `ps`, probes are sent to it."""

    name: str
    link: str
    addresses: tuple[str, ...]
    agent: str


@dataclass(frozen=True)
class Plan:
    """Everything that `up` does, in order.

    `no_send_stamp`: nodes whose card gives no stamp on sending, and why. `laid`: the links with
    conditions, by their names.
    """

    lab: str
    agents: tuple[Agent, ...]
    operations: tuple[Operation, ...]
    interfaces: dict[str, tuple[Interface, ...]]
    no_send_stamp: dict[str, str] = field(default_factory=dict)
    laid: dict[str, LinkPorts] = field(default_factory=dict)

    def stack(self, node: str) -> str:
        """The agent in whose network a node's stack is; of a node without links its own."""
        return next((i.agent for i in self.interfaces[node]), node_agent(node))

    def mac(self, agent: str, interface: str) -> str:
        """The Ethernet address of an interface that the plan makes; LookupError if it does not."""
        for operation in self.operations:
            for end in ends(operation):
                if (end.agent, end.name) == (agent, interface):
                    return end.mac
        raise LookupError(f"the plan makes no {interface} in {agent}")

    def message(self) -> dict[str, Any]:
        """The plan in the form that `delaylab-agent fabric` reads."""
        return {
            "lab": self.lab,
            "agents": [_agent(agent) for agent in self.agents],
            "operations": [
                operation_message(operation)
                for operation in self.operations
                if not isinstance(operation, Inner)
            ],
        }


def ends(operation: Operation) -> tuple[End | Bridge, ...]:
    """The interfaces that an operation makes; a bridge's has the bridge's name."""
    if isinstance(operation, Veth):
        return operation.ends
    if isinstance(operation, Tap):
        return operation.host, operation.card
    if isinstance(operation, Inner):
        return (operation.card,)
    return (operation,) if isinstance(operation, Bridge) else ()


def operation_message(operation: Operation) -> dict[str, Any]:
    """One operation as the fabric reads it."""
    if isinstance(operation, Veth):
        ends = [_renamed({**vars(end)}) for end in operation.ends]
        return {"do": "veth", "ends": ends}
    if isinstance(operation, Tap):
        return {"do": "tap", **_renamed({**vars(operation.host)})}
    if isinstance(operation, Inner):
        return {
            "do": "inner",
            "in": operation.machine,
            "name": operation.vif,
            "bridge": operation.bridge,
            "node": operation.card.agent,
        }
    fields = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in vars(operation).items()
    }
    return {"do": type(operation).__name__.lower(), **_renamed(fields)}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {"in" if key == "agent" else key: value for key, value in fields.items()}


def _agent(agent: Agent) -> dict[str, Any]:
    fields = {key: value for key, value in vars(agent).items() if value is not None}
    if agent.guest is not None:
        fields["guest"] = vars(agent.guest)
    if agent.links is not None:
        fields["links"] = agent.links.message()
    return fields
