"""A network namespace: own stack, virtual interface, bridge; as an OpenVZ container has."""

from __future__ import annotations

from delaylab.plan.kind import Kind, Node
from delaylab.plan.model import NEW, Agent, node_agent


class Netns(Kind):
    """Own network stack, everything else shared with the host. Needs no root."""

    name = "netns"

    def agent(self, node: Node) -> Agent:
        """An agent in a network namespace of its own; where its host's is does not matter."""
        return Agent(
            node_agent(node.name),
            NEW,
            isolate=("uts",),
            hostname=node.name,
            cpus=node.cpus,
            capabilities=node.capabilities,
        )


KIND = Netns()
