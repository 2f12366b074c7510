"""The agents of a lab's plan: those of hosts and nodes, of the wire, and of link engines. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from delaylab.io.values import JsonObject
from delaylab.plan.kind import AnyKind, Node
from delaylab.plan.model import (
    Address,
    Agent,
    Nat,
    Offloads,
    Operation,
    Queue,
    Route,
    operation_message,
)
from delaylab.plan.network import Network
from delaylab.plan.own_folders import own_folders
from delaylab.plan.quota import quota_us
from delaylab.plan.rights_of import RightsOf, own_capabilities, shares
from delaylab.plan.settings import FORWARDS, NO_IPV6, PING_SOCKETS_OF_A_MACHINE, settings
from delaylab.resolve.agent_names import (
    MACHINE,
    host_agent,
    link_agent,
    nat_agent,
    node_agent,
    wire_agent,
)
from delaylab.resolve.lab import Lab
from delaylab.spec.capabilities import USUAL_CAPABILITIES
from delaylab.spec.devices import WAY_OUT
from delaylab.spec.kinds import NodeSpec
from delaylab.spec.this_machine import HERE

BOOT_BESIDE_MS = 3_000
"""Milliseconds that each machine adds to the boot deadline of all: they share CPUs."""
CONTAINER_BESIDE_MS = 500
"""Milliseconds that each container adds to the start deadline of all, for the same reason: on two
CPUs an engine starts a dozen in a second at rest, and fewer beside other work."""
USUAL_WEIGHT = 100
"""The `cpu_weight` of a node that has none, in a lab where another has one, or a quota."""


def agents(
    name: str,
    lab: Lab,
    kinds: Mapping[str, AnyKind],
    network: Network,
    rights_of: RightsOf,
    *,
    accounting: bool,
) -> list[Agent]:
    """Return the agents of a lab named `name`, in the order in which they start.

    With `accounting` every agent has a cgroup, if the rights allow it.
    """
    forwarding = network.forwarding
    usual = settings(lab, routers=bool(forwarding))

    def sysctls(agent: str) -> dict[str, str]:
        return {**usual, **(FORWARDS if agent in forwarding else {})}

    hosts = [
        Agent(host_agent(name), cpus=_cpus(spec.cpus), hostname=name)
        for name, spec in lab.hosts.items()
    ] or [Agent(host_agent(HERE))]
    hosts = [replace(host, sysctls=sysctls(host.name)) for host in hosts]
    nodes = [_node(name, lab, node, kinds, network, rights_of) for node in lab.nodes]
    services: list[Agent] = []
    for kind in dict.fromkeys(node.spec.kind for node in nodes):
        services += kinds[kind].services(tuple(node for node in nodes if node.spec.kind == kind))
    of_nodes = []
    for node in nodes:
        kind_of_node = kinds[node.spec.kind]
        agent = kind_of_node.agent(node)
        own = sysctls(agent.name) if kind_of_node.own_stack else agent.sysctls
        of_nodes.append(replace(agent, own_folders=own_folders(node.name, node.spec), sysctls=own))
    of_nodes = [_with_interface(*each, network) for each in zip(nodes, of_nodes, strict=True)]
    of_nodes = _with_shares(nodes, of_nodes)
    services, of_nodes = _with_time(services, nodes), _with_time(of_nodes, nodes)
    wire = [
        Agent(wire_agent(machine), sysctls={**NO_IPV6, **network.settings_of_wire(machine)})
        for machine in network.wires
    ]
    ways = [
        Agent(nat_agent(node), MACHINE, nat=Nat(node_agent(node), WAY_OUT, spec.forwards))
        for node, spec in lab.nodes.items()
        if spec.leads_outside
    ]
    found = [*hosts, *services, *of_nodes, *wire, *ways, *_engines(lab, network)]
    return [
        _with_cgroup(agent, root=rights_of.agent(agent.name).root, accounting=accounting)
        for agent in found
    ]


def _with_interface(node: Node[NodeSpec], agent: Agent, network: Network) -> Agent:
    """Return the agent of a node with the interface of this machine that the node is, if it is."""
    if node.spec.outside is None:
        return agent
    interface = network.real_interface(node.name, node.spec.outside)
    return replace(agent, interface=interface, sysctls={**agent.sysctls, **NO_IPV6})


def _with_time(agents: Iterable[Agent], nodes: Iterable[Node[NodeSpec]]) -> list[Agent]:
    """Return the agents of containers with more time to start, the more containers there are."""
    more_ms = CONTAINER_BESIDE_MS * sum(node.spec.container for node in nodes)
    return [_with_more_time(agent, more_ms) for agent in agents]


def _with_more_time(agent: Agent, more_ms: int) -> Agent:
    guest = agent.guest
    # A virtual machine, which has a set-up, gets its time in `hand_over`.
    if guest is None or guest.setup is not None:
        return agent
    return replace(agent, guest=replace(guest, deadline_ms=guest.deadline_ms + more_ms))


def _with_shares(nodes: list[Node[NodeSpec]], agents: list[Agent]) -> list[Agent]:
    """Return the agents of nodes with the weights and quotas of their CPU time.

    A node that may compete for a CPU with one that has a share has a cgroup, too: outside of the
    lab's groups it would compete with the lab as a whole. All others keep out of those groups, in
    which some kernels give no real-time scheduling.
    """
    competing = _competing(nodes)
    return [
        replace(
            agent,
            cgroup=True,
            cpu_weight=weight or USUAL_WEIGHT,
            cpu_quota_us=None if quota is None else quota_us(quota),
        )
        if node.name in competing
        else agent
        for node, agent in zip(nodes, agents, strict=True)
        for weight, quota in [shares(node.spec)]
    ]


def _competing(nodes: list[Node[NodeSpec]]) -> set[str]:
    """Return the nodes that may compete for a CPU with one that has a share, or by way of others.

    A node without CPUs of its own may run on any of its machine's.
    """
    found = {node.name for node in nodes if any(shares(node.spec))}
    among = [node for node in nodes if node.name in found]
    while among:
        one = among.pop()
        rivals = [node for node in nodes if node.name not in found and _share_a_cpu(one, node)]
        found |= {node.name for node in rivals}
        among += rivals
    return found


def _share_a_cpu(one: Node[NodeSpec], other: Node[NodeSpec]) -> bool:
    if one.machine != other.machine:
        return False
    return not (one.cpus and other.cpus) or bool(set(one.cpus) & set(other.cpus))


def _engines(lab: Lab, network: Network) -> Iterator[Agent]:
    """Yield the agent that carries the links of each host touched by a link with conditions."""
    if not network.conditioned:
        return
    from delaylab.plan.conditions.conditioned import engine_links  # noqa: PLC0415  for such links only

    for host in list(lab.hosts) or [HERE]:
        spec, engine = lab.hosts.get(host), lab.engine_on(host)
        links = engine_links(lab.seed, host, engine, network.conditioned)
        if links is not None:
            cpus = _cpus(engine.cpus or (spec.cpus if spec else None))
            yield Agent(link_agent(host), host_agent(host), cpus=cpus, links=links)


def _node(
    name: str,
    lab: Lab,
    node: str,
    kinds: Mapping[str, AnyKind],
    network: Network,
    rights_of: RightsOf,
) -> Node[NodeSpec]:
    spec, host = lab.nodes[node], lab.host_of(node)
    rights = rights_of.node(node)
    # A virtual machine's cables end in its host's bridges, which are never in this machine's own
    # network namespace.
    in_namespace = kinds[spec.kind].own_kernel or bool(lab.hosts)
    place = host_agent(host) if in_namespace else MACHINE
    capabilities = tuple(
        sorted((USUAL_CAPABILITIES | own_capabilities(spec)) & rights.capabilities)
    )
    return Node(
        name=node,
        lab=name,
        spec=spec,
        host=host,
        network=place,
        cpus=_cpus(lab.cpus_of(node)),
        cards=network.cards(node),
        inner=network.inner(node),
        capabilities=capabilities,
        machine=lab.machine_of(host),
        xen=lab.hosts[host].xen if host in lab.hosts else None,
    )


def _with_cgroup(agent: Agent, *, root: bool, accounting: bool) -> Agent:
    """Return an agent with a cgroup if it needs one and the rights allow it."""
    cgroup = root and (agent.cgroup or bool(agent.cpus) or accounting)
    return agent if agent.cgroup == cgroup else replace(agent, cgroup=cgroup)


def hand_over(
    agents: list[Agent], operations: list[Operation]
) -> tuple[list[Agent], list[Operation]]:
    """Move operations inside virtual machines from the plan into those machines' setup."""
    inside = {agent.name for agent in agents if agent.guest and agent.guest.setup is not None}
    if not inside:
        return agents, operations
    theirs: dict[str, list[JsonObject]] = defaultdict(list)
    others = []
    for operation in operations:
        if isinstance(operation, Address | Queue | Offloads | Route) and operation.agent in inside:
            theirs[operation.agent].append(operation_message(operation))
        else:
            others.append(operation)
    machines = len(inside)
    return [_with_settings(agent, theirs[agent.name], machines) for agent in agents], others


def _with_settings(agent: Agent, operations: list[JsonObject], machines: int) -> Agent:
    if agent.guest is None or agent.guest.setup is None:
        return agent
    sysctls = {**agent.sysctls, **PING_SOCKETS_OF_A_MACHINE}
    setup = {**agent.guest.setup, "sysctls": sysctls, "operations": operations}
    deadline_ms = agent.guest.deadline_ms + machines * BOOT_BESIDE_MS
    guest = replace(agent.guest, setup=setup, deadline_ms=deadline_ms)
    return replace(agent, sysctls={}, guest=guest)


def _cpus(cpus: list[int] | None) -> tuple[int, ...] | None:
    return tuple(cpus) if cpus else None
