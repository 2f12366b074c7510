"""Cables between stacks, between a node and its host, and between a host and the wire."""

from __future__ import annotations

from collections import defaultdict

from delaylab.errors import BadInput
from delaylab.plan.agent_names import WIRE, host_agent, machine_agent, node_agent
from delaylab.plan.model import Bridge, DomainCable, Queue, TapDevice, Veth
from delaylab.plan.stacks import Device, NodeStacks, short
from delaylab.spec.lab import LinkSpec, UplinkSpec

ETHERNET_HEADER = 14


class Cables:
    """Cables in the order they are laid, cables that guests bring (`inner`), bridges and queues."""

    def __init__(self, stacks: NodeStacks) -> None:
        self._stacks = stacks
        self.link_ports: list[Veth | TapDevice] = []
        self.inner: list[DomainCable] = []
        self.cards_of: dict[str, list[TapDevice]] = defaultdict(list)
        """The agent of a virtual machine -> its cables."""
        self.inner_of: dict[str, list[DomainCable]] = defaultdict(list)
        """The agent of a Xen domain -> its cables."""
        self.bridges: list[Bridge] = []
        self.queues: list[Queue] = []
        self._shared: dict[tuple[str, str], str] = {}

    def between(self, link: LinkSpec, name: str, one: str, two: str) -> dict[str, Device]:
        """Lay a point-to-point link on one host as a veth between two stacks; return its devices.

        Raises BadInput if both nodes are in one stack.
        """
        if self._stacks.networks[one] == self._stacks.networks[two]:
            raise BadInput(f"link {name!r} joins {one!r} and {two!r}, which are one stack")
        ends, devices = [], {}
        for node, peer in ((one, two), (two, one)):
            agent = self._stacks.networks[node]
            device = (
                self._stacks.device(node, name)
                if self._stacks.has_cable(node)
                else self._stacks.numbered(agent, f"vif-{peer}")
            )
            ends.append(self._stacks.end(agent, device, link))
            devices[node] = (agent, device)
        self.link_ports.append(Veth((ends[0], ends[1])))
        return devices

    def join(
        self,
        link: LinkSpec,
        name: str,
        node: str,
        stacks: dict[str, Device],
        around: str,
    ) -> tuple[str | None, Device]:
        """Lay a node's cable to its host; return the port there, None if it exists, and the device.

        `stacks` are the networks of the link's other nodes on this host, each with its device:
        nodes in one stack share a device. `around` is the name under which nested nodes share the
        cable of the machine that they are in.
        """
        network, host = self._stacks.networks[node], self._stacks.lab.host_of(node)
        if network in stacks:
            return None, stacks[network]
        if self._stacks.kind(node).in_shared_machine:
            return self._around(host, link, around), self._inside(node, host, link, name, around)
        agent = host_agent(host)
        device, vif = self._stacks.device(node, name), self._stacks.numbered(agent, f"vif-{node}")
        card, end = self._stacks.end(network, device, link), self._stacks.end(agent, vif, link)
        if self._stacks.kind(node).own_kernel:
            self._add_card(TapDevice(end, card))
        else:
            self.link_ports.append(Veth((card, end)))
        return vif, (network, device)

    def _around(self, host: str, link: LinkSpec, name: str) -> str | None:
        """Lay the TAP that a link's nested nodes on a host share; return its port if new."""
        if (host, name) in self._shared:
            return None
        machine, agent = machine_agent(host), host_agent(host)
        device, vif = (
            self._stacks.numbered(machine, "eth", from_zero=True),
            self._stacks.numbered(agent, "vif-xen"),
        )
        self._shared[host, name] = f"br{device.removeprefix('eth')}"
        self._add_card(
            TapDevice(self._stacks.end(agent, vif, link), self._stacks.end(machine, device, link))
        )
        return vif

    def _inside(self, node: str, host: str, link: LinkSpec, name: str, around: str) -> Device:
        """Lay a nested node's cable to the bridge in the machine around it; return its device."""
        machine, agent = machine_agent(host), node_agent(node)
        device, vif = self._stacks.device(node, name), self._stacks.numbered(machine, f"vif-{node}")
        card = self._stacks.end(agent, device, link)
        self._add_inner(DomainCable(machine, self._shared[host, around], vif, card))
        return agent, device

    def back(self, link: LinkSpec, name: str, node: str, bridge: str) -> Device:
        """Add the cable that a hypervisor makes to a bridge; return its device in the node."""
        agent, host = node_agent(node), self._stacks.host(node)
        device, vif = self._stacks.device(node, name), self._stacks.numbered(host, f"vif-{node}")
        self._add_inner(DomainCable(host, bridge, vif, self._stacks.end(agent, device, link)))
        return agent, device

    def back_by_bridge(self, link: LinkSpec, name: str, node: str) -> tuple[str, Device]:
        """Add the cable that a hypervisor makes, for a link with conditions.

        The engine needs its port before the node starts, but the hypervisor makes the cable only
        then. So the node has a bridge of its own, and a veth leads from there to the engine.
        Returns the engine's port and the device in the node.
        """
        host = self._stacks.host(node)
        near, port = (
            self._stacks.numbered(host, f"to-{node}"),
            self._stacks.numbered(host, f"port-{node}"),
        )
        self.link_ports.append(
            Veth((self._stacks.end(host, near, link), self._stacks.end(host, port, link)))
        )
        bridge = self.bridge(host, near, [near])
        return port, self.back(link, name, node, bridge)

    def bridge(self, agent: str, link: str, ports: list[str]) -> str:
        """Add a bridge with these ports, named after a link; return its name."""
        bridge = short(f"br-{link}")
        self.bridges.append(Bridge(agent, bridge, self._stacks.mac(agent, bridge), tuple(ports)))
        return bridge

    def uplink(self, link: LinkSpec, host: str) -> tuple[str, str]:
        """Lay the cable from a host to the wire for one link; return its name at either end."""
        agent = host_agent(host)
        uplink, far = (
            self._stacks.numbered(agent, "uplink"),
            self._stacks.numbered(WIRE, f"to-{host}"),
        )
        self.link_ports.append(
            Veth((self._stacks.end(agent, uplink, link), self._stacks.end(WIRE, far, link)))
        )
        spec = self._stacks.lab.hosts[host].uplink
        if spec:
            self.queues.append(_queue(agent, uplink, spec, link.mtu))
        return uplink, far

    def _add_card(self, cable: TapDevice) -> None:
        self.link_ports.append(cable)
        self.cards_of[cable.card.agent].append(cable)

    def _add_inner(self, cable: DomainCable) -> None:
        self.inner.append(cable)
        self.inner_of[cable.card.agent].append(cable)


def _queue(agent: str, uplink: str, spec: UplinkSpec, mtu: int) -> Queue:
    limit = spec.queue * (mtu + ETHERNET_HEADER)
    return Queue(agent, uplink, spec.rate.bps, spec.burst.bytes, limit)
