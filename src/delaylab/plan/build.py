"""Conversion of a lab to a plan. It is pure: it reads and changes nothing on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from delaylab.errors import BadInput
from delaylab.plan.agents import agents as agents_of
from delaylab.plan.agents import hand_over
from delaylab.plan.kept import PlannedNode
from delaylab.plan.kind import AnyKind, Rights
from delaylab.plan.model import Plan
from delaylab.plan.network import Network
from delaylab.plan.operations import operations as operations_of
from delaylab.plan.own_folders import own_folders
from delaylab.plan.rights_of import RightsOf, refuse_what_cannot_run
from delaylab.resolve.agent_names import MACHINE, node_agent
from delaylab.resolve.lab import Lab
from delaylab.routing.node_programs import NodePrograms
from delaylab.spec.timeline.model import NodeEventSpec


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
    agents, operations = hand_over(
        agents_of(name, lab, kinds, network, rights_of, accounting=accounting),
        list(operations_of(network)),
    )
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
