"""Conversion of a lab to a plan. It is pure: it reads and changes nothing on the machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from delaylab.errors import BadInput
from delaylab.io.values import JsonObject
from delaylab.plan.kept import PlannedNode
from delaylab.plan.kind import AnyKind, Node, Rights
from delaylab.plan.model import (
    Address,
    Agent,
    Nat,
    Offloads,
    Operation,
    Plan,
    Queue,
    Route,
    operation_message,
)
from delaylab.plan.network import Network
from delaylab.plan.own_folders import own_folders
from delaylab.plan.quota import quota_us
from delaylab.plan.rights_of import RightsOf, own_capabilities, refuse_what_cannot_run, shares
from delaylab.resolve.agent_names import (
    MACHINE,
    host_agent,
    link_agent,
    nat_agent,
    node_agent,
    wire_agent,
)
from delaylab.resolve.lab import Lab
from delaylab.routing.node_programs import NodePrograms
from delaylab.spec.capabilities import USUAL_CAPABILITIES
from delaylab.spec.kinds import NodeSpec
from delaylab.spec.this_machine import HERE
from delaylab.spec.timeline.model import NodeEventSpec

PING_SOCKETS = {"net.ipv4.ping_group_range": "0 0"}
"""Allows datagram ICMP sockets to root of a node; a user namespace may name no larger range."""
PING_SOCKETS_OF_A_MACHINE = {"net.ipv4.ping_group_range": "0 2147483647"}
BOOT_BESIDE_MS = 3_000
"""Milliseconds that each machine adds to the boot deadline of all: they share CPUs."""
USUAL_WEIGHT = 100
"""The `cpu_weight` of a node that has none, in a lab where another has one, or a quota."""
NO_IPV6 = {"-net.ipv6.conf.all.disable_ipv6": "1", "-net.ipv6.conf.default.disable_ipv6": "1"}
"""Settings that disable IPv6, and with it its background traffic (router solicitation, MLD)."""
AT_ONCE = {
    f"-net.ipv6.conf.{which}.{setting}": "0"
    for which in ("all", "default")
    for setting in ("disable_ipv6", "accept_dad")
}
"""Settings that have IPv6, which Docker disables, and skip duplicate address detection (RFC 4862,
5.4): a lab has no duplicates."""
WAY_OUT = "to_outside"
"""The interface of a way outside; no link's name has an underscore."""
FORWARDS = {"net.ipv4.ip_forward": "1", "-net.ipv6.conf.all.forwarding": "1"}
FORWARDS_NOTHING = dict.fromkeys(FORWARDS, "0")
"""A new network namespace has this machine's settings (ip-sysctl, `devconf_inherit_init_net`)."""
BY_FLOW = {f"-net.{version}.fib_multipath_hash_policy": "1" for version in ("ipv4", "ipv6")}
"""Settings by which ports, too, decide which of several next hops a packet takes (ip-sysctl)."""
ANY_WAY_BACK = {
    f"-net.ipv4.conf.{which}.{name}": "0"
    for which in ("all", "default")
    for name in ("rp_filter", "send_redirects")
}
"""Settings among routers: a packet may come by another way than back to its sender (RFC 3704)."""


def build(
    lab: Lab,
    kinds: Mapping[str, AnyKind],
    rights: Rights,
    *,
    name: str | None = None,
    accounting: bool = False,
    machines: Mapping[str, Rights] = MappingProxyType({}),
    token: str = "",
) -> Plan:
    """Return the plan of a lab.

    `name` is the name of the running lab, by default the file's. With `accounting` every agent has
    a cgroup, so that CPU time can be told apart by node; this takes time in large labs, and cgroups
    need root. `rights` are those on this machine, `machines` those on the lab's others, as far as
    they are known. `token` tells the lab from others of its name where their frames meet: MAC
    addresses, tunnels' identifiers and multicast groups are made of both. Raises NotHere if one of
    the nodes cannot run on its machine, and BadInput if a node cannot forward.
    """
    name = name or lab.name
    rights_of = RightsOf(lab, rights, machines)
    kinds = {known: kind.here(rights) for known, kind in kinds.items()}
    refuse_what_cannot_run(lab, kinds, rights_of)
    network = Network(name, lab, kinds, token)
    for link in lab.links.values():
        network.add_link(link)
    agents = [
        _with_cgroup(agent, rights_of.agent(agent.name), accounting=accounting)
        for agent in _agents(name, lab, kinds, network, rights_of)
    ]
    agents, operations = _hand_over(agents, list(network.operations()))
    made = _daemons(lab, network) if lab.has_daemons else {}
    nodes = {
        node: _planned(lab, node, kinds[spec.kind], network, made.get(node, NodePrograms()))
        for node, spec in lab.nodes.items()
    }
    _check_programs_of_events(lab, nodes)
    guests = (each.name for each in agents if each.guest and each.guest.reach != "nothing")
    return Plan(
        lab=name,
        nodes=nodes,
        engines={agent.name: agent.links.engine for agent in agents if agent.links},
        guests=tuple(guests),
        machines={host: spec.machine for host, spec in lab.hosts.items() if spec.machine},
        interfaces=network.interfaces,
        in_machine=tuple(agent.name for agent in agents if agent.network == MACHINE),
        agents=tuple(agents),
        operations=tuple(operations),
        daemons=made,
    )


def _with_cgroup(agent: Agent, rights: Rights, *, accounting: bool) -> Agent:
    """Return an agent with a cgroup if it needs one and the rights allow it."""
    cgroup = rights.root and (agent.cgroup or bool(agent.cpus) or accounting)
    return agent if agent.cgroup == cgroup else replace(agent, cgroup=cgroup)


def _daemons(lab: Lab, network: Network) -> Mapping[str, NodePrograms]:
    # Most labs have no routing daemons.
    from delaylab.plan.daemons import daemons  # noqa: PLC0415

    return daemons(lab, network.attachments)


def _check_programs_of_events(lab: Lab, nodes: Mapping[str, PlannedNode]) -> None:
    """Raise BadInput if the timeline has an event of a program that its node does not have."""
    for moment in lab.timeline:
        if not isinstance(moment, NodeEventSpec):
            continue
        for node in moment.nodes:
            there = nodes[node].programs
            for program in moment.programs or ():
                if program not in there:
                    what = f"timeline, {moment.words}: node {node!r} has no program {program!r}"
                    fix = f"its programs: {', '.join(there) or 'none'}"
                    raise BadInput(what, fix=fix)


def _planned(
    lab: Lab, node: str, kind: AnyKind, network: Network, made: NodePrograms
) -> PlannedNode:
    spec, attachments = lab.nodes[node], tuple(network.attachments[node])
    return PlannedNode(
        kind=spec.kind,
        host=lab.host_of(node),
        own_stack=kind.own_stack,
        stack=next((each.agent for each in attachments), node_agent(node)),
        own_root=kind.facts.own_root,
        no_send_stamp=kind.no_send_stamp(spec),
        own_folders=own_folders(node, spec) or (),
        files=(*made.files, *spec.files),
        programs=tuple(program.called for program in (*made.programs, *spec.start)),
        env=spec.env,
        attachments=attachments,
        loopbacks=lab.loopbacks.get(node, ()),
    )


def _agents(
    name: str, lab: Lab, kinds: Mapping[str, AnyKind], network: Network, rights_of: RightsOf
) -> list[Agent]:
    forwarding = network.forwarding
    sysctls = {**FORWARDS_NOTHING, **PING_SOCKETS, **(AT_ONCE if 6 in lab.ip else NO_IPV6)}
    sysctls |= ANY_WAY_BACK if forwarding else {}
    sysctls |= BY_FLOW if lab.uses_every_path else {}
    sysctls |= lab.sysctls

    def settings(agent: str) -> dict[str, str]:
        return {**sysctls, **(FORWARDS if agent in forwarding else {})}

    hosts = [
        Agent(host_agent(name), cpus=_cpus(spec.cpus), hostname=name)
        for name, spec in lab.hosts.items()
    ] or [Agent(host_agent(HERE))]
    hosts = [replace(host, sysctls=settings(host.name)) for host in hosts]
    nodes = {
        node: _node(name, lab, node, kinds, network, rights_of.node(node)) for node in lab.nodes
    }
    services: list[Agent] = []
    for kind in dict.fromkeys(spec.kind for spec in lab.nodes.values()):
        members = tuple(node for node in nodes.values() if node.spec.kind == kind)
        services += kinds[kind].services(members)
    weighed = any(any(shares(spec)) for spec in lab.nodes.values())
    agents = []
    for node in nodes.values():
        kind_of_node = kinds[node.spec.kind]
        agent = kind_of_node.agent(node)
        own = settings(agent.name) if kind_of_node.own_stack else agent.sysctls
        agent = replace(agent, own_folders=own_folders(node.name, node.spec), sysctls=own)
        weight, quota = shares(node.spec)
        if weighed:
            # All of them: a node outside of the lab's groups would compete with the lab as a whole.
            agent = replace(agent, cgroup=True, cpu_weight=weight or USUAL_WEIGHT)
        if quota is not None:
            agent = replace(agent, cgroup=True, cpu_quota_us=quota_us(quota))
        if node.spec.outside is not None:
            interface = network.real_interface(node.name, node.spec.outside)
            agent = replace(agent, interface=interface, sysctls={**agent.sysctls, **NO_IPV6})
        agents.append(agent)
    wire = [
        Agent(wire_agent(machine), sysctls={**NO_IPV6, **network.settings_of_wire(machine)})
        for machine in network.wires
    ]
    ways = [
        Agent(nat_agent(node), MACHINE, nat=Nat(node_agent(node), WAY_OUT, spec.forwards))
        for node, spec in lab.nodes.items()
        if spec.leads_outside
    ]
    return [*hosts, *services, *agents, *wire, *ways, *_engines(lab, network)]


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
    rights: Rights,
) -> Node[NodeSpec]:
    spec, host = lab.nodes[node], lab.host_of(node)
    # A virtual machine's cables end in its host's bridges, which are never in this machine's own
    # network namespace.
    in_namespace = kinds[spec.kind].own_kernel or bool(lab.hosts)
    place = host_agent(host) if in_namespace else MACHINE
    capabilities = tuple(
        sorted((USUAL_CAPABILITIES | own_capabilities(spec)) & rights.capabilities)
    )
    return Node(
        node,
        name,
        spec,
        host,
        place,
        _cpus(lab.cpus_of(node)),
        network.cards(node),
        network.inner(node),
        capabilities,
        lab.machine_of(host),
        lab.hosts[host].xen if host in lab.hosts else None,
    )


def _hand_over(
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
