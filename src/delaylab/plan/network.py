"""What joins a lab's stacks: cables, bridges, uplinks, the wire."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from delaylab.errors import BadInput
from delaylab.plan.addresses import LinkAddresses, mac
from delaylab.plan.carry import LinkPorts
from delaylab.plan.kind import Kind
from delaylab.plan.model import (
    WIRE,
    Address,
    Bridge,
    End,
    Inner,
    Interface,
    Offloads,
    Operation,
    Queue,
    Tap,
    Veth,
    host_agent,
    machine_agent,
    node_agent,
)
from delaylab.spec import (
    HERE,
    LabSpec,
    LinkSpec,
    UplinkSpec,
    host_of,
    is_conditioned,
    link_name,
)

ETHERNET_HEADER = 14
IFNAMSIZ = 15
"""The longest interface name (linux/if.h, without the final zero)."""


class Network:
    """Collects the operations of a lab's links, link by link."""

    def __init__(self, name: str, lab: LabSpec, kinds: Mapping[str, Kind]) -> None:
        self.name, self.lab, self.kinds = name, lab, kinds
        self.interfaces: dict[str, list[Interface]] = defaultdict(list)
        self.crosses = False
        self._cables: list[Veth | Tap] = []
        self._inner: list[Inner] = []
        self._bridges: list[Bridge] = []
        self._addresses: dict[Address, None] = {}
        self._queues: list[Queue] = []
        self._shared: dict[tuple[str, str], str] = {}
        self._count: Counter[tuple[str, str]] = Counter()
        self._machine = next((node_agent(n) for n in lab.nodes if self._on_machine(n)), None)
        self._networks = {node: self._find_network(node) for node in lab.nodes}
        self._slow = any(host.uplink for host in lab.hosts.values())
        self.laid: list[LinkPorts] = []
        self._exact: list[Veth | Tap] = []

    def operations(self) -> Iterator[Operation]:
        """All operations, in the order in which they can be carried out."""
        yield from self._cables
        yield from self._inner
        yield from self._bridges
        yield from self._addresses
        yield from self._queues
        yield from self._offloads()

    def stack(self, node: str) -> str:
        """Nodes of one stack share its addresses: native nodes of a host do."""
        return host_agent(host_of(self.lab, node)) if self._is_native(node) else node_agent(node)

    def add_link(self, index: int, addresses: LinkAddresses) -> None:
        """Add one link with the addresses of its members."""
        link, name = self.lab.links[index], link_name(self.lab, index)
        hosts = list(dict.fromkeys(host_of(self.lab, node) for node in link.members))
        conditioned = is_conditioned(self.lab, link, name)
        cables_before = len(self._cables)
        if conditioned:
            self.laid.append(LinkPorts(name, link))
        if (
            len(hosts) == 1
            and link.between
            and not conditioned
            and not any(map(self._is_machine, link.between))
        ):
            devices = self._cable(link, name, *link.between)
        else:
            devices, wire_ports = dict[str, tuple[str, str]](), list[str]()
            for host in hosts:
                uplink = None
                if len(hosts) > 1:
                    uplink, wire_port = self._uplink(link, host)
                    wire_ports.append(wire_port)
                part = self._on_engine if conditioned else self._on_host
                devices |= part(link, name, host, uplink)
            if wire_ports:
                self.crosses = True
                self._add_bridge(WIRE, name, wire_ports)
        if conditioned:
            self.laid[-1].check()
            self._exact += self._cables[cables_before:]
        for node, texts in addresses.items():
            agent, device = devices[node]
            self.interfaces[node].append(Interface(device, name, tuple(texts), agent))
            for text in texts:
                self._addresses[Address(agent, device, text)] = None

    def _is_native(self, node: str) -> bool:
        return self.lab.nodes[node].kind == "native"

    def _is_nested(self, node: str) -> bool:
        return self.kinds[self.lab.nodes[node].kind].nested

    def _is_machine(self, node: str) -> bool:
        """Whether a node has a kernel of its own: its cable ends in a TAP, which wants a bridge."""
        return self.kinds[self.lab.nodes[node].kind].own_kernel

    def _is_backed(self, node: str) -> bool:
        return self.kinds[self.lab.nodes[node].kind].backed

    def inner(self, node: str) -> tuple[Inner, ...]:
        """The cables of a node that is a Xen domain."""
        return tuple(i for i in self._inner if i.card.agent == node_agent(node))

    def cards(self, node: str) -> tuple[Tap, ...]:
        """The cables of a node that is a virtual machine, or of the machine around it."""
        agent = node_agent(node)
        if self._is_nested(node):
            agent = machine_agent(host_of(self.lab, node))
        return tuple(c for c in self._cables if isinstance(c, Tap) and c.card.agent == agent)

    def _has_cable(self, node: str) -> bool:
        """Whether a node is joined by a virtual interface rather than by its host's stack."""
        return self.kinds[self.lab.nodes[node].kind].own_stack or host_of(self.lab, node) == HERE

    def _find_network(self, node: str) -> str:
        """The agent in whose network a node's stack is; for this machine's, the first that is."""
        if self._on_machine(node):
            assert self._machine is not None
            return self._machine
        own_stack = self.kinds[self.lab.nodes[node].kind].own_stack
        return node_agent(node) if own_stack else host_agent(host_of(self.lab, node))

    def _on_machine(self, node: str) -> bool:
        """Whether a node is in the stack of this machine itself."""
        return (
            host_of(self.lab, node) == HERE and not self.kinds[self.lab.nodes[node].kind].own_stack
        )

    def _device(self, node: str, link: str) -> str:
        """A new name for a node's own interface."""
        network = self._networks[node]
        if network == self._machine:
            return _short(f"dl-{self.name}-{link}")
        return self._numbered(network, "eth", from_zero=True)

    def _end(self, agent: str, name: str, link: LinkSpec) -> End:
        return End(agent, name, mac(self.name, agent, name), link.mtu)

    def _numbered(self, agent: str, name: str, *, from_zero: bool = False) -> str:
        """`eth0`, `eth1` …; or `uplink`, `uplink.1` …: the next that the agent does not have."""
        number = self._count[agent, name]
        self._count[agent, name] += 1
        if from_zero:
            return f"{name}{number}"
        return _short(f"{name}.{number}" if number else name)

    def _cable(self, link: LinkSpec, name: str, one: str, two: str) -> dict[str, tuple[str, str]]:
        """A point-to-point link on one host: a cable from stack to stack."""
        if self._networks[one] == self._networks[two]:
            raise BadInput(f"link {name!r} joins {one!r} and {two!r}, which are one stack")
        ends, devices = [], {}
        for node, peer in ((one, two), (two, one)):
            agent = self._networks[node]
            device = (
                self._device(node, name)
                if self._has_cable(node)
                else self._numbered(agent, f"vif-{peer}")
            )
            ends.append(self._end(agent, device, link))
            devices[node] = (agent, device)
        self._cables.append(Veth((ends[0], ends[1])))
        return devices

    def _on_host(
        self, link: LinkSpec, name: str, host: str, uplink: str | None
    ) -> dict[str, tuple[str, str]]:
        """One host's part of a link: vifs, bridge, uplink; node -> (agent, device)."""
        agent = host_agent(host)
        members = [node for node in link.members if host_of(self.lab, node) == host]
        ports, devices = list[str](), dict[str, tuple[str, str]]()
        for node in members:
            if self._is_backed(node):
                devices[node] = self._back(link, name, node, _short(f"br-{name}"))
            elif self._has_cable(node):
                vif, devices[node] = self._join(link, name, node, devices, name)
                ports += [vif] if vif else []
        shared = uplink
        if ports or not shared or any(map(self._is_backed, members)):
            shared = self._add_bridge(agent, name, [*ports, uplink] if uplink else ports)
        in_stack = {node: (agent, shared) for node in members if node not in devices}
        return devices | in_stack

    def _on_engine(
        self, link: LinkSpec, name: str, host: str, uplink: str | None
    ) -> dict[str, tuple[str, str]]:
        """One host's part of a link with conditions: a port for each stack and for the uplink."""
        laid = self.laid[-1]
        ports, devices = laid.ports.setdefault(host, {}), dict[str, tuple[str, str]]()
        for node in (node for node in link.members if host_of(self.lab, node) == host):
            # Domains of one machine meet in a bridge inside it, past the engine, if they share one.
            vif, devices[node] = (
                self._back_by_bridge(link, name, node)
                if self._is_backed(node)
                else self._join(link, name, node, devices, f"{name}/{node}")
            )
            laid.macs[node] = mac(self.name, *devices[node])
            if vif:
                ports[vif] = [node]
            else:
                same = (nodes for nodes in ports.values() if devices[nodes[0]] == devices[node])
                next(same).append(node)
        if uplink:
            laid.uplinks[host] = uplink
        return devices

    def _join(
        self,
        link: LinkSpec,
        name: str,
        node: str,
        devices: dict[str, tuple[str, str]],
        around: str,
    ) -> tuple[str | None, tuple[str, str]]:
        """A node's cable to its host: the port there, if it is a new one, and (agent, device).

        `devices`: those of the link's other nodes on this host; what is in one stack has one.
        `around`: whose nested nodes share the cable of the machine that they are in.
        """
        network, host = self._networks[node], host_of(self.lab, node)
        for other in devices.values():
            if other[0] == network:
                return None, other
        if self._is_nested(node):
            return self._around(host, link, around), self._inside(node, host, link, name, around)
        agent = host_agent(host)
        device, vif = self._device(node, name), self._numbered(agent, f"vif-{node}")
        card, end = self._end(network, device, link), self._end(agent, vif, link)
        self._cables.append(Tap(end, card) if self._is_machine(node) else Veth((card, end)))
        return vif, (network, device)

    def _around(self, host: str, link: LinkSpec, name: str) -> str | None:
        """The TAP of the machine that a link's nested nodes on a host share; made for the first."""
        if (host, name) in self._shared:
            return None
        machine, agent = machine_agent(host), host_agent(host)
        device, vif = (
            self._numbered(machine, "eth", from_zero=True),
            self._numbered(agent, "vif-xen"),
        )
        self._shared[host, name] = f"br{device.removeprefix('eth')}"
        self._cables.append(Tap(self._end(agent, vif, link), self._end(machine, device, link)))
        return vif

    def _inside(
        self, node: str, host: str, link: LinkSpec, name: str, around: str
    ) -> tuple[str, str]:
        """A nested node's cable to the bridge in the machine around it."""
        machine, agent = machine_agent(host), node_agent(node)
        device, vif = self._device(node, name), self._numbered(machine, f"vif-{node}")
        card = self._end(agent, device, link)
        self._inner.append(Inner(machine, self._shared[host, around], vif, card))
        return agent, device

    def _back(self, link: LinkSpec, name: str, node: str, bridge: str) -> tuple[str, str]:
        """The cable that a hypervisor makes to a bridge; its (agent, device) in the node."""
        agent, host = node_agent(node), host_agent(host_of(self.lab, node))
        device, vif = self._device(node, name), self._numbered(host, f"vif-{node}")
        self._inner.append(Inner(host, bridge, vif, self._end(agent, device, link)))
        return agent, device

    def _back_by_bridge(self, link: LinkSpec, name: str, node: str) -> tuple[str, tuple[str, str]]:
        """The same on a link with conditions: its engine wants a port before the node starts.

        So the node has a bridge of its own, and from there a cable to the engine.
        """
        host = host_agent(host_of(self.lab, node))
        near, port = self._numbered(host, f"to-{node}"), self._numbered(host, f"port-{node}")
        self._cables.append(Veth((self._end(host, near, link), self._end(host, port, link))))
        bridge = self._add_bridge(host, near, [near])
        return port, self._back(link, name, node, bridge)

    def _add_bridge(self, agent: str, link: str, ports: list[str]) -> str:
        bridge = _short(f"br-{link}")
        self._bridges.append(Bridge(agent, bridge, mac(self.name, agent, bridge), tuple(ports)))
        return bridge

    def _uplink(self, link: LinkSpec, host: str) -> tuple[str, str]:
        """The cable from a host to the wire for one link: (name on the host, name in the wire)."""
        agent = host_agent(host)
        uplink, far = self._numbered(agent, "uplink"), self._numbered(WIRE, f"to-{host}")
        self._cables.append(Veth((self._end(agent, uplink, link), self._end(WIRE, far, link))))
        spec = self.lab.hosts[host].uplink
        if spec:
            self._queues.append(_queue(agent, uplink, spec, link.mtu))
        return uplink, far

    def _offloads(self) -> Iterator[Operation]:
        """Behind a rate, packets are what the link carries: no 64 KiB segments at any point.

        The link engine takes no frame that is longer than the MTU.
        """
        for cable in self._cables if self._slow else self._exact:
            ends = (cable.card,) if isinstance(cable, Tap) else cable.ends
            for end in ends:
                if end.agent != self._machine or cable in self._exact:
                    yield Offloads(end.agent, end.name, enabled=False)
        for inner in self._inner:
            if self._slow and self._is_backed(inner.card.agent.removeprefix("node.")):
                yield Offloads(inner.card.agent, inner.card.name, enabled=False)


def _queue(agent: str, uplink: str, spec: UplinkSpec, mtu: int) -> Queue:
    limit = spec.queue * (mtu + ETHERNET_HEADER)
    return Queue(agent, uplink, spec.rate.bps, spec.burst.bytes, limit)


def _short(name: str) -> str:
    """An interface name of at most 15 characters, still unlike all others."""
    if len(name) <= IFNAMSIZ:
        return name
    return name[:9] + "~" + hashlib.blake2b(name.encode(), digest_size=4).hexdigest()[:5]
