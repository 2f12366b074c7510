"""A lab's stacks: in which network each node's is, and names for the interfaces there."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

from delaylab.plan.addresses import mac
from delaylab.plan.kind import Kind
from delaylab.plan.model import End, host_agent, node_agent
from delaylab.spec import HERE, LabSpec, LinkSpec, NodeSpec, host_of

IFNAMSIZ = 15
"""The longest interface name (linux/if.h, without the final zero)."""
Device = tuple[str, str]
"""The agent in whose network an interface is, and its name."""


class Ground:
    """What cables are laid on. Names are given once: each call of `numbered` takes the next."""

    def __init__(self, name: str, lab: LabSpec, kinds: Mapping[str, Kind]) -> None:
        self.name, self.lab, self._kinds = name, lab, kinds
        self._count: Counter[tuple[str, str]] = Counter()
        self.machine = next((node_agent(n) for n in lab.nodes if self._on_machine(n)), None)
        """The agent in whose network this machine's own stack is, if a node is in it."""
        self.networks = {node: self._find_network(node) for node in lab.nodes}

    def kind(self, node: str) -> Kind:
        """The technology of a node."""
        return self._kinds[self.spec(node).kind]

    def spec(self, node: str) -> NodeSpec:
        """What the lab's file says of a node."""
        return self.lab.nodes[node]

    def host(self, node: str) -> str:
        """The agent of the host that a node is on."""
        return host_agent(host_of(self.lab, node))

    def members(self, link: LinkSpec, host: str) -> list[str]:
        """The nodes of a link that are on a host."""
        return [node for node in link.members if host_of(self.lab, node) == host]

    def stack(self, node: str) -> str:
        """Nodes of one stack share its addresses: native nodes of a host do."""
        return self.host(node) if self.spec(node).kind == "native" else node_agent(node)

    def has_cable(self, node: str) -> bool:
        """Whether a node is joined by a virtual interface rather than by its host's stack."""
        return self.kind(node).own_stack or host_of(self.lab, node) == HERE

    def in_machine(self, node: str) -> bool:
        """Whether a node's interfaces are in a virtual machine, out of its host's reach."""
        kind = self.kind(node)
        return kind.own_kernel or kind.nested or kind.backed

    def device(self, node: str, link: str) -> str:
        """A new name for a node's own interface."""
        network = self.networks[node]
        if network == self.machine:
            return short(f"dl-{self.name}-{link}")
        return self.numbered(network, "eth", from_zero=True)

    def end(self, agent: str, name: str, link: LinkSpec) -> End:
        """The end of a cable, with its fixed Ethernet address."""
        return End(agent, name, self.mac(agent, name), link.mtu)

    def mac(self, agent: str, name: str) -> str:
        """The fixed Ethernet address of an interface."""
        return mac(self.name, agent, name)

    def numbered(self, agent: str, name: str, *, from_zero: bool = False) -> str:
        """`eth0`, `eth1` …; or `uplink`, `uplink.1` …: the next that the agent does not have."""
        number = self._count[agent, name]
        self._count[agent, name] += 1
        if from_zero:
            return f"{name}{number}"
        return short(f"{name}.{number}" if number else name)

    def _find_network(self, node: str) -> str:
        """The agent in whose network a node's stack is; for this machine's, the first that is."""
        if self._on_machine(node):
            assert self.machine is not None
            return self.machine
        return node_agent(node) if self.kind(node).own_stack else self.host(node)

    def _on_machine(self, node: str) -> bool:
        """Whether a node is in the stack of this machine itself."""
        return host_of(self.lab, node) == HERE and not self.kind(node).own_stack


def short(name: str) -> str:
    """An interface name of at most 15 characters, still unlike all others."""
    if len(name) <= IFNAMSIZ:
        return name
    return name[:9] + "~" + hashlib.blake2b(name.encode(), digest_size=4).hexdigest()[:5]
