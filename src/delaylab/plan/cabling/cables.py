"""Cables between stacks, between a node and its host, and between a host and the wire.

Each cable of a node is laid together with the node's attachment: what is known of the way from its
device outward is known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from delaylab.errors import BadInput
from delaylab.plan.attachment import Attachment, TapPoint
from delaylab.plan.cabling.capacities import ETHERNET_HEADER, Capacities
from delaylab.plan.cabling.lan import Lan
from delaylab.plan.cabling.outward import LanPort, Tunnel, TunnelPeer
from delaylab.plan.cabling.stations import behind_ports
from delaylab.plan.model import Bridge, DomainCable, Queue, TapDevice, Veth, VethEnd
from delaylab.plan.stacks import NodeStacks
from delaylab.resolve.agent_names import host_agent, machine_agent, node_agent, wire_agent
from delaylab.resolve.lab import Link
from delaylab.spec.devices import short
from delaylab.spec.lab import UplinkSpec
from delaylab.spec.this_machine import LOCAL_MACHINE


class Cables:
    """Cables in the order they are laid, cables that guests bring (`inner`), bridges and queues."""

    def __init__(self, stacks: NodeStacks) -> None:
        self._stacks = stacks
        self.laid: list[Veth | TapDevice] = []
        self.inner: list[DomainCable] = []
        self.cards_of: dict[str, list[TapDevice]] = defaultdict(list)
        """The agent of a virtual machine -> its cables."""
        self.inner_of: dict[str, list[DomainCable]] = defaultdict(list)
        """The agent of a Xen domain -> its cables."""
        self.bridges: dict[tuple[str, str], Bridge] = {}
        """The bridges, by agent and name."""
        self.queues: list[Queue] = []
        self.tunnels: list[Tunnel] = []
        self.lan = Lan(stacks)
        self.capacities = Capacities(stacks)
        self._shared: dict[tuple[str, str], tuple[str, TapPoint]] = {}
        """A host and a name for a cable of the machine of its Xen domains -> the bridge inside, and
        the cable's end on the host."""

    def between(self, link: Link, one: str, two: str) -> list[Attachment]:
        """Lay a point-to-point link on one host as a veth between two stacks.

        Raises BadInput if both nodes are in one stack.
        """
        if self._stacks.networks[one] == self._stacks.networks[two]:
            raise BadInput(f"link {link.name!r} joins {one!r} and {two!r}, which are one stack")
        ends, attachments = [], []
        for node, peer in ((one, two), (two, one)):
            agent = self._stacks.networks[node]
            device = (
                self._stacks.device(node, link)
                if self._stacks.has_cable(node)
                else vif_name(peer, link.name)
            )
            ends.append(self._stacks.end(agent, device, link))
            shared = agent == self._stacks.host(node)
            attachments.append(self._attachment(node, link, ends[-1], in_host_stack=shared))
        self.laid.append(Veth((ends[0], ends[1])))
        return attachments

    def join(self, link: Link, node: str, around: str) -> Attachment:
        """Lay a node's cable to its host.

        `around` is the name under which nodes in a machine inside the host share its cable.
        """
        network, host = self._stacks.networks[node], self._stacks.hosts[node]
        if self._stacks.kind(node).in_shared_machine:
            return self._inside(node, host, link, self._around(host, link, around))
        agent = host_agent(host)
        device, vif = self._stacks.device(node, link), vif_name(node, link.name)
        card, end = self._stacks.end(network, device, link), self._stacks.end(agent, vif, link)
        if self._stacks.kind(node).own_kernel:
            self._add_card(TapDevice(end, card))
        else:
            self.laid.append(Veth((card, end)))
        return self._attachment(node, link, card, (TapPoint(agent, vif, "vif"),))

    def in_host(self, link: Link, node: str, interface: str) -> Attachment:
        """Return the attachment of a node that uses an interface of its host itself."""
        end = self._stacks.end(self._stacks.host(node), interface, link)
        return self._attachment(node, link, end, in_host_stack=True)

    def _around(self, host: str, link: Link, name: str) -> tuple[str, TapPoint]:
        """Lay the TAP that a link's nested nodes on a host share under a name, once.

        Returns the bridge inside their machine, and the TAP's end on the host.
        """
        if (host, name) not in self._shared:
            machine, agent = machine_agent(host), host_agent(host)
            number = self._stacks.next_number(machine, "eth")
            device, vif = f"eth{number}", short(f"xen.{name}")
            card = self._stacks.end(machine, device, link)
            self._add_card(TapDevice(self._stacks.end(agent, vif, link), card))
            self._shared[host, name] = f"br{number}", TapPoint(agent, vif, "vif")
        return self._shared[host, name]

    def _inside(self, node: str, host: str, link: Link, around: tuple[str, TapPoint]) -> Attachment:
        """Lay a nested node's cable to the bridge in the machine around it."""
        machine, agent = machine_agent(host), node_agent(node)
        device, vif = self._stacks.device(node, link), vif_name(node, link.name)
        bridge, on_host = around
        card = self._stacks.end(agent, device, link)
        self._add_inner(DomainCable(machine, bridge, vif, card))
        return self._attachment(node, link, card, (TapPoint(machine, vif, "dom0"), on_host))

    def back(self, link: Link, node: str, bridge: str) -> Attachment:
        """Add the cable that a hypervisor makes to a bridge of its host."""
        agent, host = node_agent(node), self._stacks.host(node)
        device, vif = self._stacks.device(node, link), vif_name(node, link.name)
        card = self._stacks.end(agent, device, link)
        self._add_inner(DomainCable(host, bridge, vif, card))
        return self._attachment(node, link, card, (TapPoint(host, vif, "vif"),))

    def back_by_bridge(self, link: Link, node: str) -> Attachment:
        """Add the cable that a hypervisor makes, for a link with conditions.

        The engine needs its port before the node starts, but the hypervisor makes the cable only
        then. So the node has a bridge of its own, and a veth leads from there to the engine's port.
        """
        host = self._stacks.host(node)
        near, port = short(f"to-{node}.{link.name}"), short(f"port-{node}.{link.name}")
        self.laid.append(
            Veth((self._stacks.end(host, near, link), self._stacks.end(host, port, link)))
        )
        bridge = self.bridge(host, near, [near])
        return replace(self.back(link, node, bridge), port=port)

    def _attachment(
        self,
        node: str,
        link: Link,
        card: VethEnd,
        outward: tuple[TapPoint, ...] = (),
        *,
        in_host_stack: bool = False,
    ) -> Attachment:
        return Attachment(
            node=node,
            link=link.name,
            host=self._stacks.hosts[node],
            agent=card.agent,
            device=card.name,
            mac=card.mac,
            addresses=link.addresses[node],
            outward=outward,
            in_host_stack=in_host_stack,
            other_kernel=self._stacks.other_kernel(node),
            carrier=self._stacks.spec(node).carrier,
        )

    def bridge(self, agent: str, link: str, ports: list[str]) -> str:
        """Add a bridge with these ports, named after a link; return its name."""
        bridge = short(f"br-{link}")
        mac = self._stacks.mac(agent, bridge)
        self.bridges[agent, bridge] = Bridge(agent, bridge, mac, tuple(ports))
        return bridge

    def hold(
        self, agent: str, link: str, here: Sequence[Attachment], attachments: Sequence[Attachment]
    ) -> None:
        """Let a bridge, if there is one of this name, hold the MAC addresses of its link's nodes.

        `here` are the attachments of the nodes that the bridge is for.
        """
        name = short(f"br-{link}")
        bridge = self.bridges.get((agent, name))
        if bridge is not None:
            macs = behind_ports(bridge, here, attachments)
            self.bridges[agent, name] = replace(bridge, macs=macs)

    def uplink(self, link: Link, host: str, node: str | None = None) -> tuple[TapPoint, TapPoint]:
        """Lay the cable from a host to its machine's wire for one link, or for one `node` of it.

        Returns its ends, the host's first.
        """
        around = link.name if node is None else f"{link.name}.{node}"
        agent, wire = host_agent(host), wire_agent(self._stacks.lab.machine_of(host))
        uplink, far = short(f"uplink.{around}"), vif_name(host, around)
        self.laid.append(
            Veth((self._stacks.end(agent, uplink, link), self._stacks.end(wire, far, link)))
        )
        spec = self._stacks.lab.hosts[host].uplink
        if spec:
            self.queues.append(_queue(agent, uplink, spec, link.mtu))
        self.capacities.add(link, host, node, uplink, far)
        return TapPoint(agent, uplink, "uplink"), TapPoint(wire, far, "wire")

    def tunnel(
        self, link: Link, machine: str | None, macs: Mapping[str | None, list[str]]
    ) -> TapPoint:
        """Lay a link's way from a machine's wire to other machines; return its interface.

        `macs` are the MAC addresses of the link's nodes, by their machine.
        """
        wire, tunnel = wire_agent(machine), short(f"tunnel.{link.name}")
        mac = self._stacks.mac(wire, tunnel)
        here = machine or LOCAL_MACHINE
        peers = tuple(
            TunnelPeer(other or LOCAL_MACHINE, tuple(dict.fromkeys(theirs)))
            for other, theirs in macs.items()
            if other != machine
        )
        if self._stacks.lab.data_plane == "ethernet":
            self.lan.add(
                LanPort(
                    agent=wire,
                    name=tunnel,
                    link=link.name,
                    mac=mac,
                    mtu=link.mtu,
                    machine=here,
                    peers=peers,
                    own=tuple(dict.fromkeys(macs[machine])),
                    to="",
                )
            )
            return TapPoint(wire, tunnel, "tunnel")
        self.tunnels.append(
            Tunnel(
                agent=wire,
                name=tunnel,
                link=link.name,
                mac=mac,
                mtu=link.mtu,
                id=self._stacks.vnis[link.name],
                port=self._stacks.lab.vxlan_port,
                machine=here,
                peers=peers,
            )
        )
        return TapPoint(wire, tunnel, "tunnel")

    def _add_card(self, cable: TapDevice) -> None:
        self.laid.append(cable)
        self.cards_of[cable.card.agent].append(cable)

    def _add_inner(self, cable: DomainCable) -> None:
        self.inner.append(cable)
        self.inner_of[cable.card.agent].append(cable)


def _queue(agent: str, uplink: str, spec: UplinkSpec, mtu: int) -> Queue:
    limit = spec.queue * (mtu + ETHERNET_HEADER)
    return Queue(agent, uplink, spec.rate.bps, spec.burst.bytes, limit)


def vif_name(node: str, link: str) -> str:
    """Return the name of the interface of a host that leads to a node on a link."""
    return short(f"{node}.{link}")
