"""One plan for each machine of a lab, made of the plan of the whole lab. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from delaylab.plan.cabling.outward import LanPort, MulticastGroups, Tunnel
from delaylab.plan.model import Agent, DomainCable, Operation, Plan, TapDevice, Veth
from delaylab.spec.this_machine import LOCAL_MACHINE


def parts(
    plan: Plan, addresses: Mapping[str, str], interfaces: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Plan]:
    """Return the plan of each machine, by its name; this machine's only if it has a part.

    `addresses` are those by which machines reach each other, for every machine with a tunnel;
    `interfaces` those on the LAN of machines for which the file names none. All parts keep what
    holds of the whole lab while it runs: each machine knows all of its nodes.
    """
    machines: dict[str, str] = {agent.name: machine_of(plan, agent) for agent in plan.agents}
    agents: dict[str, list[Agent]] = defaultdict(list)
    operations: dict[str, list[Operation]] = defaultdict(list)
    for agent in plan.agents:
        agents[machines[agent.name]].append(agent)
    for operation in plan.operations:
        machine = machines[_agent_of(operation)]
        operations[machine].append(_addressed(operation, addresses, interfaces))
    return {
        machine: replace(plan, agents=tuple(own), operations=tuple(operations[machine]))
        for machine, own in agents.items()
    }


def tunnels(plan: Plan) -> list[Tunnel | LanPort]:
    """Return the ways of a plan's links from one machine to others."""
    return [each for each in plan.operations if isinstance(each, Tunnel | LanPort)]


def machine_of(plan: Plan, agent: Agent) -> str:
    """Return the machine of an agent, by the host that it is on."""
    if agent.name.role in ("wire", "engine"):
        return agent.name.of or LOCAL_MACHINE
    host = plan.nodes[agent.name.of].host if agent.name.role in ("node", "nat") else agent.name.of
    return plan.machines.get(host, LOCAL_MACHINE)


def _agent_of(operation: Operation) -> str:
    """Return an agent of the machine on which an operation is carried out."""
    if isinstance(operation, Veth):
        return operation.ends[0].agent
    if isinstance(operation, TapDevice):
        return operation.host.agent
    return operation.machine if isinstance(operation, DomainCable) else operation.agent


def _addressed(
    operation: Operation, addresses: Mapping[str, str], interfaces: Mapping[str, str]
) -> Operation:
    """Return an operation with the addresses and interfaces of the machines that it names."""
    if isinstance(operation, LanPort | MulticastGroups) and not operation.by:
        return replace(operation, by=interfaces[operation.machine])
    if not isinstance(operation, Tunnel):
        return operation
    peers = tuple(replace(peer, address=addresses[peer.machine]) for peer in operation.peers)
    return replace(operation, local=addresses[operation.machine], peers=peers)
