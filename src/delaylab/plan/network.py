"""The network of a lab, link by link: cables, bridges, uplinks, the wire."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from delaylab.plan.addresses import LinkAddresses
from delaylab.plan.agent_names import WIRE, host_agent, machine_agent, node_agent
from delaylab.plan.cables import Cables
from delaylab.plan.kind import Kind
from delaylab.plan.link_ports import LinkPorts
from delaylab.plan.model import (
    Address,
    DomainCable,
    Interface,
    Neighbours,
    Offloads,
    Operation,
    Steering,
    TapDevice,
    Veth,
)
from delaylab.plan.reach import Stacks
from delaylab.plan.routes import routes
from delaylab.plan.stacks import Device, NodeStacks, short
from delaylab.spec.directions import conditioned
from delaylab.spec.lab import HERE, LabSpec, LinkSpec
from delaylab.spec.names import costs, link_name
from delaylab.spec.round_trip import one_way_ns, tries


class Network:
    """A collector of the operations that a lab's links need."""

    def __init__(self, name: str, lab: LabSpec, kinds: Mapping[str, Kind]) -> None:
        self.lab = lab
        self.interfaces: dict[str, list[Interface]] = defaultdict(list)
        self.crosses = False
        self.link_ports: list[LinkPorts] = []
        self._stacks = NodeStacks(name, lab, kinds)
        self._cables = Cables(self._stacks)
        self._addresses: dict[Address, None] = {}
        self._exact: list[Veth | TapDevice] = []
        self._conditioned = conditioned(lab)
        self._slow = any(host.uplink for host in lab.hosts.values())

    @property
    def forwarding(self) -> set[str]:
        """Return the agents whose stacks forward."""
        return {self._stacks.networks[n] for n, spec in self.lab.nodes.items() if spec.forwards}

    def stack(self, node: str) -> str:
        """Return the key of a node's stack; native nodes of a host share one."""
        return self._stacks.stack(node)

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, in an order in which they can be carried out."""
        yield from self._cables.link_ports
        yield from self._cables.inner
        yield from self._cables.bridges
        yield from self._addresses
        if self.lab.routes == "shortest":
            stacks = Stacks(self.interfaces, self.forwarding, costs(self.lab))
            yield from routes(stacks, self._stacks.machine)
        yield from self._cables.queues
        yield from self._offloads()
        yield from dict.fromkeys(self._steering())
        yield from dict.fromkeys(self._neighbours())

    def add_link(self, index: int, addresses: LinkAddresses) -> None:
        """Add one link with the addresses of its members."""
        link, name = self.lab.links[index], link_name(self.lab, index)
        members: dict[str, list[str]] = defaultdict(list)
        for node in link.members:
            members[self.lab.host_of(node)].append(node)
        conditioned = name in self._conditioned
        cables_before = len(self._cables.link_ports)
        if conditioned:
            self.link_ports.append(LinkPorts(name, link))
        if (
            len(members) == 1
            and link.between
            and not conditioned
            and not any(self._stacks.kind(node).own_kernel for node in link.between)
        ):
            devices = self._cables.between(link, name, *link.between)
        else:
            devices, wire_ports = dict[str, Device](), list[str]()
            part = self._on_engine if conditioned else self._on_host
            for host, nodes in members.items():
                uplink = None
                if len(members) > 1:
                    uplink, wire_port = self._cables.uplink(link, host)
                    wire_ports.append(wire_port)
                devices |= part(link, name, host, nodes, uplink)
            if wire_ports:
                self.crosses = True
                self._cables.bridge(WIRE, name, wire_ports)
        if conditioned:
            self.link_ports[-1].check()
            self._exact += self._cables.link_ports[cables_before:]
        for node, texts in addresses.items():
            agent, device = devices[node]
            self.interfaces[node].append(Interface(device, name, tuple(texts), agent))
            for text in texts:
                self._addresses[Address(agent, device, text)] = None

    def inner(self, node: str) -> tuple[DomainCable, ...]:
        """Return the cables of a node that is a Xen domain."""
        return tuple(self._cables.inner_of[node_agent(node)])

    def cards(self, node: str) -> tuple[TapDevice, ...]:
        """Return the cables of a virtual machine; for a nested node, its machine's."""
        agent = node_agent(node)
        if self._stacks.kind(node).in_shared_machine:
            agent = machine_agent(self.lab.host_of(node))
        return tuple(self._cables.cards_of[agent])

    def _on_host(
        self, link: LinkSpec, name: str, host: str, members: list[str], uplink: str | None
    ) -> dict[str, Device]:
        """Lay one host's part of a link: vifs, bridge, uplink; return node -> (agent, device)."""
        agent = host_agent(host)
        ports, devices, stacks = list[str](), dict[str, Device](), dict[str, Device]()
        for node in members:
            if self._stacks.kind(node).hypervisor_bridged:
                devices[node] = self._cables.back(link, name, node, short(f"br-{name}"))
            elif self._stacks.has_cable(node):
                vif, devices[node] = self._cables.join(link, name, node, stacks, name)
                stacks.setdefault(devices[node][0], devices[node])
                ports += [vif] if vif else []
        shared = uplink
        if (
            ports
            or not shared
            or any(self._stacks.kind(node).hypervisor_bridged for node in members)
        ):
            shared = self._cables.bridge(agent, name, [*ports, uplink] if uplink else ports)
        in_stack = {node: (agent, shared) for node in members if node not in devices}
        return devices | in_stack

    def _on_engine(
        self, link: LinkSpec, name: str, host: str, members: list[str], uplink: str | None
    ) -> dict[str, Device]:
        """Lay one host's part of a link with conditions: a port per stack and one for the uplink.

        Returns node -> (agent, device).
        """
        link_ports = self.link_ports[-1]
        ports, devices = link_ports.ports.setdefault(host, {}), dict[str, Device]()
        stacks, sharing = dict[str, Device](), dict[Device, list[str]]()
        for node in members:
            # Each nested domain has a cable of its own on such a link: domains that shared one
            # would meet in a bridge inside their machine, past the engine.
            vif, devices[node] = (
                self._cables.back_by_bridge(link, name, node)
                if self._stacks.kind(node).hypervisor_bridged
                else self._cables.join(link, name, node, stacks, f"{name}/{node}")
            )
            stacks.setdefault(devices[node][0], devices[node])
            link_ports.macs[node] = self._stacks.mac(*devices[node])
            if not self._stacks.in_machine(node):
                link_ports.cards[node] = devices[node]
            if vif:
                sharing[devices[node]] = ports[vif] = [node]
            else:
                sharing[devices[node]].append(node)
        if uplink:
            link_ports.uplinks[host] = uplink
        return devices

    def _steering(self) -> Iterator[Steering]:
        """Yield receive steering that avoids the CPUs of an engine with `steer`.

        Nodes in virtual machines are left out: their stacks are in other kernels.
        """
        link_ports = {link.name for link in self.link_ports}
        engines = {host: self.lab.engine_on(host) for host in self.lab.hosts or (HERE,)}
        for node, interfaces in self.interfaces.items():
            engine = engines[self.lab.host_of(node)]
            if not (engine.steer and engine.cpus) or self._stacks.in_machine(node):
                continue
            for interface in interfaces:
                if interface.link in link_ports:
                    yield Steering(interface.agent, interface.name, tuple(engine.cpus))

    def _neighbours(self) -> Iterator[Neighbours]:
        """Yield longer waits for neighbours where the kernel's own end before an answer can come.

        It asks three times, once a second, and then says that there is no route (arp(7)).
        """
        wanted = {
            link: tries(of_members.values()) for link, of_members in one_way_ns(self.lab).items()
        }
        for interfaces in self.interfaces.values():
            for interface in interfaces:
                often = wanted[interface.link]
                if often is not None:
                    yield Neighbours(interface.agent, interface.name, often)

    def _offloads(self) -> Iterator[Operation]:
        """Yield operations that switch offloads off where packets must be as the link carries them.

        Behind a rate, 64 KiB segments must not appear at any point. The link engine accepts no
        frame that is longer than the MTU.
        """
        exact = set(self._exact)
        for cable in self._cables.link_ports if self._slow else self._exact:
            ends = (cable.card,) if isinstance(cable, TapDevice) else cable.ends
            for end in ends:
                if end.agent != self._stacks.machine or cable in exact:
                    yield Offloads(end.agent, end.name, enabled=False)
        for inner in self._cables.inner:
            if (
                self._slow
                and self._stacks.kind(inner.card.agent.removeprefix("node.")).hypervisor_bridged
            ):
                yield Offloads(inner.card.agent, inner.card.name, enabled=False)
