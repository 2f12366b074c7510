"""Refusals of what nodes cannot be or have with the rights on their machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from delaylab.errors import BadInput, NotHere
from delaylab.plan.kind import SLIRP, TUN, AnyKind, Rights
from delaylab.resolve.agent_names import AgentName
from delaylab.resolve.lab import Lab
from delaylab.spec.capabilities import Capability
from delaylab.spec.kinds import HostedNode, NodeSpec, ProcessNode
from delaylab.units import Multiple

UNKNOWN = Rights(root=True)
"""The rights on a machine that was not asked: a plan can be printed without it."""
PRIVILEGED = "if it is a container: start it with them, as by `docker run --privileged`"
A_STACK_OF_ITS_OWN = "name a host in the lab file, which is then a namespace; or take kind netns"


@dataclass(frozen=True)
class RightsOf:
    """The rights on this machine, and on the other machines of a lab as far as they are known."""

    lab: Lab
    here: Rights
    machines: Mapping[str, Rights]

    def node(self, node: str) -> Rights:
        """Return the rights on the machine that carries a node."""
        return self.host(self.lab.host_of(node))

    def host(self, host: str) -> Rights:
        """Return the rights on the machine that a host is on."""
        machine = self.lab.machine_of(host)
        return self.here if machine is None else self.machines.get(machine, UNKNOWN)

    def agent(self, agent: AgentName) -> Rights:
        """Return the rights on the machine of an agent."""
        if agent.role in ("wire", "engine"):
            return self.machines.get(agent.of, UNKNOWN) if agent.of else self.here
        return self.node(agent.of) if agent.role in ("node", "nat") else self.host(agent.of)


def refuse_what_cannot_run(lab: Lab, kinds: Mapping[str, AnyKind], rights_of: RightsOf) -> None:
    """Raise NotHere if the rights do not allow a node, and BadInput if its stack does not."""
    _refuse_without_capabilities(lab, rights_of)
    for node, spec in lab.nodes.items():
        own, kind = rights_of.node(node), kinds[spec.kind]
        machine = lab.machine_of(lab.host_of(node))
        not_elsewhere = kind.not_elsewhere if machine else None
        if reason := not_elsewhere or kind.can_run(own, not lab.hosts):
            on = f" on machine {machine}" if machine else ""
            raise NotHere(f"node {node!r}: kind {spec.kind} cannot run{on}: {reason}")
        _refuse_for_rights(node, spec, own)
        if not lab.hosts and not kind.own_stack:
            _refuse_in_the_machines_stack(node, spec)


def _refuse_without_capabilities(lab: Lab, rights_of: RightsOf) -> None:
    """Raise NotHere for the first machine on which root may not start a lab, with what it lacks."""
    rights = {f"machine {name}": rights_of.machines.get(name) for name in lab.machines_used}
    if not lab.hosts or any(host.machine is None for host in lab.hosts.values()):
        rights = {"this machine": rights_of.here, **rights}
    for machine, own in rights.items():
        if own is not None and (why := own.why_no_lab()):
            raise NotHere(why, machine, PRIVILEGED)


def _refuse_for_rights(node: str, spec: NodeSpec, own: Rights) -> None:
    for field, share in zip(("cpu_weight", "cpu_quota"), shares(spec), strict=True):
        if share is not None and not own.root:
            why = "control groups are root's"
            raise NotHere(f"node {node!r} cannot have a `{field}`: {why}")
    if spec.outside is not None and not own.root:
        raise NotHere(f"node {node!r} cannot be interface {spec.outside}: that needs root")
    if spec.has_daemons and not (own.root or spec.own_root):
        why = "only root can write the configuration of FRR and BIRD"
        fix = "run as root, or take kind qemu or uml"
        raise NotHere(f"node {node!r} cannot have `routing`: {why}", fix=fix)
    if spec.leads_outside and (lacking := own.why_not(SLIRP, TUN)):
        raise NotHere(f"node {node!r} cannot have `nat`: {lacking}")
    missing = sorted(own_capabilities(spec) - own.capabilities)
    if missing:
        why = f"delaylab itself was started without {missing[0]}"
        raise NotHere(f"node {node!r} cannot have its capabilities: {why}")


def _refuse_in_the_machines_stack(node: str, spec: NodeSpec) -> None:
    why = "its stack is this machine's own, which stays as it is"
    for what, is_asked in (("have `routes`", spec.routes), ("forward", spec.forwards)):
        if is_asked:
            raise BadInput(f"node {node!r} cannot {what}: {why}", fix=A_STACK_OF_ITS_OWN)


def shares(spec: NodeSpec) -> tuple[int | None, Multiple | None]:
    """Return the weight and the quota of a node's CPU time."""
    return (spec.cpu_weight, spec.cpu_quota) if isinstance(spec, HostedNode) else (None, None)


def own_capabilities(spec: NodeSpec) -> set[Capability]:
    """Return the capabilities that the lab file adds to a node's programs."""
    return set(spec.capabilities or ()) if isinstance(spec, ProcessNode) else set()
