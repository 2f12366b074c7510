"""A network namespace: own stack, virtual interface, bridge; as an OpenVZ container has."""

from __future__ import annotations

from delaylab.plan.kind import Node, Rights
from delaylab.plan.model import NEW, Agent, node_agent


class Netns:
    """Own network stack, everything else shared with the host."""

    name = "netns"
    own_stack = True
    own_kernel = False

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Always: root makes namespaces, an ordinary user makes them in a user namespace."""
        return None

    def agent(self, node: Node) -> Agent:
        """An agent in a network namespace of its own; where its host's is does not matter."""
        return Agent(
            node_agent(node.name),
            NEW,
            isolate=("uts",),
            hostname=node.name,
            cpus=node.cpus,
        )

    def services(self, nodes: tuple[Node, ...]) -> tuple[Agent, ...]:
        """None."""
        return ()


KIND = Netns()
