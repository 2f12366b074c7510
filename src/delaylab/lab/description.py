"""Description of a running lab, as `ps` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from delaylab.lab import health
from delaylab.lab.programs.folders import with_programs
from delaylab.lab.running import LiveLab
from delaylab.resolve.agent_names import AgentName, node_agent

if TYPE_CHECKING:
    from delaylab.agent.wire.programs import ProgramsDone
    from delaylab.plan.attachment import Attachment

State = Literal["running", "stopped", "killed", "dead", "unreachable"]


@dataclass(frozen=True)
class HostDescription:
    """A host of a lab: its agent and process, and a command that enters its network.

    `machine` is the machine that carries it, `local` for this one.
    """

    name: str
    machine: str
    agent: str
    pid: int
    namespace: str
    enter: str
    state: State


@dataclass(frozen=True)
class InterfaceDescription:
    """An interface of a node: its name there, its link, and its addresses with their prefixes.

    The addresses are those that it has now, without link-local ones; `lost` are those of the plan
    that it has no more. Of a node that does not answer they are those of the plan. `peers` are the
    other nodes on the link.
    """

    name: str
    link: str
    addresses: tuple[str, ...]
    lost: tuple[str, ...]
    peers: tuple[str, ...]


@dataclass(frozen=True)
class ProgramDescription:
    """A program that runs as long as its node: its process id there, and its state in words."""

    name: str
    pid: int
    state: str
    dead: bool


@dataclass(frozen=True)
class NodeDescription(HostDescription):
    """A node of a lab, with its kind, its host, its interfaces and its programs."""

    kind: str
    host: str
    interfaces: tuple[InterfaceDescription, ...]
    programs: tuple[ProgramDescription, ...]


@dataclass(frozen=True)
class LabDescription:
    """A running lab; `dead` has each dead agent with the reason.

    `unreachable` has each machine whose part of the lab cannot be reached, with the reason.
    """

    lab: str
    keeper: int
    hosts: list[HostDescription]
    nodes: list[NodeDescription]
    dead: dict[str, str]
    unreachable: dict[str, str]


def describe(lab: LiveLab, *, addresses: bool = True) -> LabDescription:
    """Return the description of a lab; asks its agents whether they live.

    Without `addresses` nodes are not asked for theirs: those of the plan are given.
    """
    gone = health.dead(lab)
    hosts = [agent for agent in lab.keeper.agents if AgentName(agent).role == "host"]
    programs = _node_states(lab, gone)
    now = _addresses(lab, gone) if addresses else {}
    return LabDescription(
        lab=lab.name,
        keeper=lab.keeper.pid,
        hosts=[_host(lab, agent, gone) for agent in hosts],
        nodes=[
            _node(lab, name, gone, programs.get(name), now.get(name)) for name in lab.plan.nodes
        ],
        dead=gone,
        unreachable=lab.unreachable,
    )


def _node_states(lab: LiveLab, gone: dict[str, str]) -> dict[str, ProgramsDone]:
    """Return the state of each node that may have programs and whose agent answers."""
    asked = with_programs(lab)
    if not asked:
        return {}
    from delaylab.lab.programs.programs import node_states  # noqa: PLC0415  see `programs/folders.py`

    lost = (agent for agent in lab.keeper.agents if lab.is_lost(agent))
    return node_states(lab, {*gone, *lost}, asked)


def _addresses(lab: LiveLab, gone: dict[str, str]) -> dict[str, Mapping[str, list[str]]]:
    """Return the addresses of each node that has some and whose agent answers."""
    from delaylab.lab.addresses import present  # noqa: PLC0415  other verbs need none

    asked = (name for name, node in lab.plan.nodes.items() if node.attachments)
    agents = ((name, node_agent(name)) for name in asked)
    return present(lab, [name for name, at in agents if not (at in gone or lab.is_lost(at))])


def _interface(
    attachment: Attachment, peers: tuple[str, ...], now: Mapping[str, list[str]] | None
) -> InterfaceDescription:
    if now is None:
        return InterfaceDescription(
            attachment.device, attachment.link, attachment.addresses, (), peers
        )
    from delaylab.lab.addresses import compared  # noqa: PLC0415  as above

    have, lost = compared(attachment.addresses, now.get(attachment.device, []))
    # In its host's stack a node has interfaces, and their addresses, in common with others.
    own = [
        address
        for address in have
        if address in attachment.addresses or not attachment.in_host_stack
    ]
    return InterfaceDescription(attachment.device, attachment.link, tuple(own), tuple(lost), peers)


def _host(lab: LiveLab, agent: str, gone: dict[str, str]) -> HostDescription:
    pid, ssh = lab.pid(agent), lab.ssh(agent)
    enter = f"nsenter --target {pid} --net"
    state: State = "unreachable" if lab.is_lost(agent) else "running"
    return HostDescription(
        name=AgentName(agent).of,
        machine=lab.machine_of(agent).name,
        agent=agent,
        pid=pid,
        namespace=f"/proc/{pid}/ns/net",
        enter=enter if ssh is None else f"ssh -t {ssh} {enter}",
        state="dead" if agent in gone else state,
    )


def _node(
    lab: LiveLab,
    name: str,
    gone: dict[str, str],
    programs: ProgramsDone | None,
    now: Mapping[str, list[str]] | None,
) -> NodeDescription:
    process, node = _host(lab, node_agent(name), gone), lab.plan.nodes[name]
    return NodeDescription(
        name=name,
        machine=process.machine,
        agent=process.agent,
        pid=process.pid,
        namespace=process.namespace,
        enter=process.enter,
        state=process.state if programs is None or programs.node == "running" else programs.node,
        kind=node.kind,
        host=node.host,
        interfaces=tuple(
            _interface(
                attachment,
                tuple(
                    other.node for other in lab.plan.on_link(attachment.link) if other.node != name
                ),
                now,
            )
            for attachment in node.attachments
        ),
        programs=tuple(
            ProgramDescription(program.name, program.pid, program.how, program.is_dead)
            for program in (programs.programs if programs else ())
        ),
    )
