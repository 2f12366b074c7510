"""The network of each node's stack, and the names of interfaces there.

A name that the file does not choose is made of the names of node and link alone. So a node or link
that is added or removed changes no name of another interface, and no MAC address, which is made of
the name and of the lab's token.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

from delaylab.plan.cabling.tunnels import identifiers
from delaylab.plan.kind import AnyKind
from delaylab.plan.model import VethEnd
from delaylab.resolve.agent_names import host_agent, node_agent
from delaylab.resolve.lab import Lab, Link
from delaylab.spec.devices import short
from delaylab.spec.kinds import NodeSpec


class NodeStacks:
    """The networks and interface names of a lab."""

    def __init__(self, name: str, lab: Lab, kinds: Mapping[str, AnyKind], token: str = "") -> None:
        self.name, self.lab = name, lab
        self.full_name = f"{name}/{token}" if token else name
        """The lab's name with its token, which no other lab has."""
        self._kinds = {node: kinds[spec.kind] for node, spec in lab.nodes.items()}
        self.hosts = {node: lab.host_of(node) for node in lab.nodes}
        """A node -> the name of its host."""
        self._count: Counter[tuple[str, str]] = Counter()
        self.machine = next((node_agent(n) for n in lab.nodes if self._on_machine(n)), None)
        """The agent in this machine's own network namespace, if a node is in that stack."""
        of_links = list(lab.links) if lab.machines else []
        self.vnis = identifiers(self.full_name, of_links)
        """A link -> its VXLAN network identifier, in a lab over several machines."""
        self.networks = {node: self._find_network(node) for node in lab.nodes}

    def kind(self, node: str) -> AnyKind:
        """Return the kind of a node."""
        return self._kinds[node]

    def spec(self, node: str) -> NodeSpec:
        """Return a node's entry in the lab file."""
        return self.lab.nodes[node]

    def host(self, node: str) -> str:
        """Return the agent of the host that a node is on."""
        return host_agent(self.hosts[node])

    def has_cable(self, node: str) -> bool:
        """Return True if a virtual interface joins a node to a link, not only its host's stack."""
        return self.kind(node).own_stack or not self.lab.hosts

    def other_kernel(self, node: str) -> bool:
        """Return True if a node's interfaces are in another kernel than its host's."""
        kind = self.kind(node)
        return kind.own_kernel or kind.in_shared_machine or kind.hypervisor_bridged

    def device(self, node: str, link: Link) -> str:
        """Return the name of a node's own interface: the file's, or that of the link.

        On this machine itself, names begin with the lab's.
        """
        on_machine = self.networks[node] == self.machine
        made = short(f"dl-{self.name}-{link.name}" if on_machine else link.name)
        return link.devices.get(node, made)

    def end(self, agent: str, name: str, link: Link) -> VethEnd:
        """Return the end of a cable, with its fixed MAC address."""
        return VethEnd(agent, name, self.mac(agent, name), link.mtu)

    def mac(self, agent: str, name: str) -> str:
        """Return the fixed MAC address of an interface."""
        return mac(self.full_name, agent, name)

    def next_number(self, agent: str, name: str) -> int:
        """Take the agent's next free number for names that begin with `name`, from 0 on."""
        number = self._count[agent, name]
        self._count[agent, name] += 1
        return number

    def _find_network(self, node: str) -> str:
        """Return the agent in whose network a node's stack is.

        For this machine's own stack it is the first node's agent in it.
        """
        if self._on_machine(node):
            assert self.machine is not None
            return self.machine
        return node_agent(node) if self.kind(node).own_stack else self.host(node)

    def _on_machine(self, node: str) -> bool:
        """Return True if a node is in the stack of this machine itself."""
        return not self.lab.hosts and not self.kind(node).own_stack


def mac(lab: str, *parts: str) -> str:
    """Return a fixed, locally administered MAC address for these names.

    A random one in each run would leave stale ARP entries. `lab` is the lab's name, with its token
    where its frames may meet those of a lab of the same name.
    """
    digest = hashlib.blake2b("/".join((lab, *parts)).encode(), digest_size=5).digest()
    return "02:" + digest.hex(":")
