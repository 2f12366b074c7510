"""One end of a probe's way over a link: its interfaces, from the node outward."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from delaylab.plan import model
from delaylab.plan.agent_names import host_agent, node_agent
from delaylab.plan.model import Bridge, Plan
from delaylab.spec.lab import LabSpec


@dataclass(frozen=True)
class TapPoint:
    """A passive stamp: `agent` records `point` on `interface`."""

    agent: str
    interface: str
    point: str


@dataclass(frozen=True)
class Side:
    """One end of a probe's way: its interfaces, from the node outward."""

    role: str
    agent: str
    host: str
    device: str
    cable: bool
    vif: str | None
    uplink: str | None
    dom0: TapPoint | None = None

    def taps(self) -> list[TapPoint]:
        """Return the taps of this end."""
        host = host_agent(self.host)
        places = (("vif", self.vif), ("uplink", self.uplink))
        on_host = [TapPoint(host, name, f"{self.role}.{point}") for point, name in places if name]
        return [self.dom0, *on_host] if self.dom0 else on_host

    def outward(self, sockets: Iterable[str]) -> list[str]:
        """Return the points from user space to the wire.

        `sockets` are the points of SOCKET_POINTS that exist. In the host's own stack the uplink's
        packet tap comes just before the driver's stamp.
        """
        order = ["app", "qdisc", "stack", "dom0", "vif", "uplink"]
        if not self.cable:
            order = ["app", "qdisc", "uplink", "stack"]
        return self._there(order, sockets)

    def inward(self, sockets: Iterable[str]) -> list[str]:
        """Return the points from the wire to user space."""
        return self._there(["uplink", "vif", "dom0", "stack", "app"], sockets)

    def _there(self, order: list[str], sockets: Iterable[str]) -> list[str]:
        there = {*sockets, *(tap.point.split(".")[1] for tap in self.taps())}
        return [f"{self.role}.{point}" for point in order if point in there]

    def absent(self) -> dict[str, str]:
        """Return the points that this end does not have, each with the reason."""
        reasons = {}
        if not self.vif:
            why = "the node has no virtual interface: it is in its host's stack"
            if self.cable:
                why = "a point-to-point link on one host has no host end"
            reasons[f"{self.role}.vif"] = why
        if not self.uplink:
            reasons[f"{self.role}.uplink"] = "both nodes are on one host: no uplink is between them"
        return reasons


def side(
    plan: Plan,
    lab: LabSpec,
    node: str,
    link: str,
    role: str,
    crosses: bool,
) -> Side:
    """Return the end of a link at a node; `crosses` says that its other end is on another host."""
    host = lab.host_of(node)
    interface = next(i for i in plan.interfaces[node] if i.link == link)
    device, place = interface.name, interface.agent
    ports = _ports(plan, host_agent(host))
    carried = plan.link_ports.get(link)
    # On a link with conditions, a node in its host's own stack also has a cable, to the engine.
    cable = place != host_agent(host) or carried is not None
    inner = _inner(plan, place, device)
    nested = inner if inner and inner.machine != host_agent(host) else None
    around = (nested.machine, nested.bridge.replace("br", "eth")) if nested else (place, device)
    vif = inner.vif if inner and not nested else peer(plan, *around) if cable else None
    bridge = ports.get(vif) if vif else device
    uplink = None
    if crosses and carried:
        uplink = carried.uplinks[host]
    elif crosses:
        uplinks = [port for port, master in ports.items() if port and master == bridge]
        uplink = next((name for name in uplinks if name.startswith("uplink")), device)
    in_bridge = vif if vif in ports or carried else None
    dom0 = TapPoint(nested.machine, nested.vif, f"{role}.dom0") if nested else None
    return Side(role, node_agent(node), host, device, cable, in_bridge, uplink, dom0)


def _inner(plan: Plan, agent: str, device: str) -> model.DomainCable | None:
    """Return the cable of a Xen domain; None for any other interface."""
    for operation in plan.operations:
        if isinstance(operation, model.DomainCable):
            card = operation.card
            if (card.agent, card.name) == (agent, device):
                return operation
    return None


def _ports(plan: Plan, agent: str) -> dict[str | None, str]:
    """Return bridge port -> bridge, in one host."""
    bridges = [op for op in plan.operations if isinstance(op, Bridge) and op.agent == agent]
    hypervisor_bridged = [
        op for op in plan.operations if isinstance(op, model.DomainCable) and op.machine == agent
    ]
    ports: dict[str | None, str] = {port: one.name for one in bridges for port in one.ports}
    return ports | {inner.vif: inner.bridge for inner in hypervisor_bridged}


def peer(plan: Plan, agent: str, device: str | None) -> str:
    """Return the name of the other end of a cable; raise LookupError if there is none."""
    for cable in plan.operations:
        if isinstance(cable, model.Veth):
            one, two = cable.ends
        elif isinstance(cable, model.TapDevice):
            one, two = cable.card, cable.host
        else:
            continue
        if (one.agent, one.name) == (agent, device):
            return two.name
        if (two.agent, two.name) == (agent, device):
            return one.name
    raise LookupError(f"no cable at {agent} {device}")
