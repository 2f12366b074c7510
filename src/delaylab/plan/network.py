"""The network of a lab, link by link: cables, bridges, uplinks, the wire."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from delaylab.plan.attachment import Attachment, TapPoint
from delaylab.plan.cabling.cables import Cables
from delaylab.plan.kept import HostInterface
from delaylab.plan.kind import AnyKind
from delaylab.plan.model import (
    Address,
    DomainCable,
    RealInterface,
    TapDevice,
    Veth,
)
from delaylab.plan.stacks import NodeStacks
from delaylab.resolve.agent_names import (
    host_agent,
    machine_agent,
    node_agent,
    wire_agent,
)
from delaylab.resolve.lab import Lab, Link
from delaylab.spec.devices import short

if TYPE_CHECKING:
    from delaylab.plan.conditions.conditioned import ConditionedLink


class Network:
    """The cables, bridges and attachments of a lab's links, laid link by link."""

    def __init__(self, name: str, lab: Lab, kinds: Mapping[str, AnyKind], token: str = "") -> None:
        self.lab = lab
        self.attachments: dict[str, list[Attachment]] = {node: [] for node in lab.nodes}
        self.wires: dict[str | None, None] = {}
        """The machines with a wire: those on which links leave a host."""
        self.conditioned: list[ConditionedLink] = []
        self.stacks = NodeStacks(name, lab, kinds, token)
        self.cables = Cables(self.stacks)
        self.addresses: dict[Address, None] = {}
        self.exact: list[Veth | TapDevice] = []
        """The cables on which frames must be as a link engine carries them."""

    @property
    def forwarding(self) -> set[str]:
        """Return the agents whose stacks forward."""
        return {self.stacks.networks[n] for n, spec in self.lab.nodes.items() if spec.forwards}

    @property
    def interfaces(self) -> tuple[HostInterface, ...]:
        """Return the interfaces of hosts by which links leave, each direction apart."""
        return tuple(self.cables.capacities.interfaces())

    def add_link(self, link: Link) -> None:
        """Add one link."""
        laid_before = len(self.cables.laid)
        if not link.conditioned and self._is_one_cable(link):
            attachments = self.cables.between(link, *link.members)
        else:
            attachments = self._over_hosts(link)
        by_node = {each.node: each for each in attachments}
        for node, texts in link.addresses.items():
            each = by_node[node]
            self.attachments[node].append(each)
            # What is behind an interface of this machine has its address already.
            for text in texts if self.lab.nodes[node].outside is None else ():
                self.addresses[Address(each.agent, each.device, text)] = None
        if link.conditioned:
            from delaylab.plan.conditions.conditioned import ConditionedLink  # noqa: PLC0415  many have none

            whole = ConditionedLink(link, tuple(attachments))
            whole.check()
            self.conditioned.append(whole)
            self.exact += self.cables.laid[laid_before:]

    def _is_one_cable(self, link: Link) -> bool:
        """Return True if a veth between two stacks of one host is all that a link needs."""
        if not link.is_pair:
            return False
        one, two = link.members
        host = self.stacks.hosts[one]
        if host != self.stacks.hosts[two] or self.lab.across(host):
            return False
        return not (self.stacks.kind(one).own_kernel or self.stacks.kind(two).own_kernel)

    def _over_hosts(self, link: Link) -> list[Attachment]:
        """Lay a link's part on each host, and join the parts at the wire if there are several."""
        parts: dict[tuple[str, str | None], list[str]] = defaultdict(list)
        for node in link.members:
            parts[self.stacks.hosts[node], self._leaves_alone(node)].append(node)
        lay = self._on_engine if link.conditioned else self._on_host
        attachments = list[Attachment]()
        wire_ports: dict[str | None, list[str]] = defaultdict(list)
        bridged = list[tuple[str, str, list[str]]]()
        for (host, alone), nodes in parts.items():
            first = None if alone is None else nodes[0]
            ends = self.cables.uplink(link, host, first) if len(parts) > 1 else ()
            around = link.name if first is None else f"{link.name}.{first}"
            here = lay(link, nodes, around, ends[0].interface if ends else None)
            attachments += [_outward(each, *ends) for each in here]
            bridged.append((host_agent(host), around, nodes))
            wire_ports[self.lab.machine_of(host)] += [end.interface for end in ends[1:]]
        attachments = self._over_machines(link, attachments, wire_ports)
        for machine, ports in wire_ports.items():
            if ports:
                self.wires[machine] = None
                self.cables.bridge(wire_agent(machine), link.name, ports)
                nodes = [n for n in link.members if self._machine_of(n) == machine]
                bridged.append((wire_agent(machine), link.name, nodes))
        for agent, around, nodes in bridged:
            here = [each for each in attachments if each.node in nodes]
            self.cables.hold(agent, around, here, attachments)
        return sorted(attachments, key=lambda each: link.members.index(each.node))

    def _machine_of(self, node: str) -> str | None:
        return self.lab.machine_of(self.stacks.hosts[node])

    def _leaves_alone(self, node: str) -> str | None:
        """Return the stack of a node if its frames leave its host even to others there."""
        across = self.lab.across(self.stacks.hosts[node])
        return self.stacks.networks[node] if across else None

    def _over_machines(
        self,
        link: Link,
        attachments: list[Attachment],
        wire_ports: dict[str | None, list[str]],
    ) -> list[Attachment]:
        """Lay a tunnel on each machine of a link that joins several; return the attachments."""
        if len(wire_ports) == 1:
            return attachments
        macs: dict[str | None, list[str]] = defaultdict(list)
        for each in attachments:
            macs[self.lab.machine_of(each.host)].append(each.mac)
        ends = {}
        for machine, ports in wire_ports.items():
            ends[machine] = self.cables.tunnel(link, machine, macs)
            ports.append(ends[machine].interface)
        return [_outward(each, ends[self.lab.machine_of(each.host)]) for each in attachments]

    def settings_of_wire(self, machine: str | None) -> dict[str, str]:
        """Return the settings of a machine's wire for what its links need there."""
        return self.cables.lan.settings(machine)

    def inner(self, node: str) -> tuple[DomainCable, ...]:
        """Return the cables of a node that is a Xen domain."""
        return tuple(self.cables.inner_of[node_agent(node)])

    def cards(self, node: str) -> tuple[TapDevice, ...]:
        """Return the cables of a virtual machine; for a nested node, its machine's."""
        agent = node_agent(node)
        if self.stacks.kind(node).in_shared_machine:
            agent = machine_agent(self.stacks.hosts[node])
        return tuple(self.cables.cards_of[agent])

    def _on_host(
        self, link: Link, members: list[str], around: str, uplink: str | None
    ) -> list[Attachment]:
        """Lay one part of a link: its nodes' cables, and a bridge with the uplink.

        `around` is the name of the bridge: each part on a host has its own.
        """
        agent, ports = self.stacks.host(members[0]), dict[str, None]()
        attachments, in_host = list[Attachment](), list[str]()
        bridged = False
        for node in members:
            mate = self._mate(node, attachments)
            if mate is not None:
                attachments.append(replace(mate, node=node, addresses=link.addresses[node]))
            elif self.stacks.kind(node).hypervisor_bridged:
                # The hypervisor itself puts the cable into the bridge.
                attachments.append(self.cables.back(link, node, short(f"br-{around}")))
                bridged = True
            elif self.stacks.has_cable(node):
                attachments.append(self.cables.join(link, node, around))
                ports[attachments[-1].outward[-1].interface] = None
            else:
                in_host.append(node)
        # The only cable of nodes in their host's own stack is the uplink: they need no bridge.
        shared = uplink
        if ports or bridged or shared is None:
            all_ports = [*ports, uplink] if uplink else [*ports]
            shared = self.cables.bridge(agent, around, all_ports)
        return attachments + [self.cables.in_host(link, node, shared) for node in in_host]

    def _on_engine(
        self, link: Link, members: list[str], _around: str, _uplink: str | None
    ) -> list[Attachment]:
        """Lay one part of a link with conditions: a port of the engine for each stack."""
        attachments = list[Attachment]()
        for node in members:
            mate = self._mate(node, attachments)
            if mate is not None:
                attachments.append(replace(mate, node=node, addresses=link.addresses[node]))
            elif self.stacks.kind(node).hypervisor_bridged:
                attachments.append(self.cables.back_by_bridge(link, node))
            else:
                # Each nested domain has a cable of its own on such a link: domains that shared one
                # would meet in a bridge inside their machine, past the engine.
                laid = self.cables.join(link, node, f"{link.name}.{node}")
                attachments.append(replace(laid, port=laid.outward[-1].interface))
        return attachments

    def _mate(self, node: str, attachments: list[Attachment]) -> Attachment | None:
        """Return the attachment of a node with the same stack: both have one device on the link."""
        network = self.stacks.networks[node]
        return next((each for each in attachments if each.agent == network), None)

    def real_interface(self, node: str, name: str) -> RealInterface:
        """Return the interface of this machine that a node is, with the node's only card."""
        (card,) = self.attachments[node]
        return RealInterface(name, card.device, self.lab.links[card.link].mtu)

    def of_systems(self) -> Iterator[Attachment]:
        """Yield the attachments of all nodes but those that are interfaces of this machine."""
        for node, of_node in self.attachments.items():
            if self.lab.nodes[node].outside is None:
                yield from of_node


def _outward(attachment: Attachment, *steps: TapPoint) -> Attachment:
    """Return an attachment with further steps towards the wire."""
    return replace(attachment, outward=(*attachment.outward, *steps)) if steps else attachment
