"""A lab -> a plan. Pure: nothing is looked up, nothing is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from delaylab.errors import NotHere
from delaylab.plan.addresses import assign
from delaylab.plan.kind import Kind, Rights
from delaylab.plan.model import MACHINE, WIRE, Agent, Interface, Plan, host_agent
from delaylab.plan.network import Network
from delaylab.spec import HERE, LabSpec, host_of

PING_SOCKETS = {"net.ipv4.ping_group_range": "0 0"}
"""Datagram ICMP sockets for a node's root; the largest range a user namespace can name."""
NO_IPV6 = {"-net.ipv6.conf.all.disable_ipv6": "1", "-net.ipv6.conf.default.disable_ipv6": "1"}
"""A lab without IPv6 has none of its background traffic (router solicitation, MLD) either."""


def build(
    lab: LabSpec,
    kinds: Mapping[str, Kind],
    rights: Rights,
    *,
    name: str | None = None,
    accounting: bool = False,
) -> Plan:
    """The plan of a lab; NotHere if one of its nodes cannot run.

    `name`: of this running lab, if not the file's. `accounting`: a cgroup for every agent, so that
    CPU time can be told apart by node (costs time in large labs; control groups need root).
    """
    name = name or lab.lab
    for node, spec in lab.nodes.items():
        reason = kinds[spec.kind].can_run(rights, host_of(lab, node) == HERE)
        if reason:
            raise NotHere(f"node {node!r} cannot be {spec.kind}: {reason}")
    network = Network(name, lab, kinds)
    stacks = {node: network.stack(node) for node in lab.nodes}
    for index, addresses in enumerate(assign(lab, stacks)):
        network.add_link(index, addresses)
    agents = [
        replace(agent, cgroup=rights.root and (bool(agent.cpus) or accounting))
        for agent in _agents(lab, kinds, with_wire=network.crosses)
    ]
    interfaces: dict[str, tuple[Interface, ...]] = {
        node: tuple(network.interfaces[node]) for node in lab.nodes
    }
    return Plan(name, tuple(agents), tuple(network.operations()), interfaces)


def _agents(lab: LabSpec, kinds: Mapping[str, Kind], *, with_wire: bool) -> list[Agent]:
    sysctls = {**PING_SOCKETS, **({} if 6 in lab.ip else NO_IPV6)}
    hosts = [
        Agent(host_agent(name), cpus=_cpus(spec.cpus), hostname=name, sysctls=dict(sysctls))
        for name, spec in lab.hosts.items()
    ] or [Agent(host_agent(HERE), sysctls=dict(sysctls))]
    nodes = []
    for name, spec in lab.nodes.items():
        host = host_of(lab, name)
        cpus = spec.cpus or (lab.hosts[host].cpus if host in lab.hosts else None)
        kind = kinds[spec.kind]
        agent = kind.agent(name, MACHINE if host == HERE else host_agent(host), _cpus(cpus))
        nodes.append(replace(agent, sysctls=dict(sysctls)) if kind.own_stack else agent)
    wire = [Agent(WIRE, sysctls=dict(NO_IPV6))] if with_wire else []
    return [*hosts, *nodes, *wire]


def _cpus(cpus: list[int] | None) -> tuple[int, ...] | None:
    return tuple(cpus) if cpus else None
