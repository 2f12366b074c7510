"""A network namespace: own stack, virtual interface, bridge, as an OpenVZ container has."""

from __future__ import annotations

from delaylab.plan.kind import Kind, Node
from delaylab.plan.model import Agent
from delaylab.resolve.agent_names import NEW, node_agent
from delaylab.spec.kinds import NetnsNode


class Netns(Kind[NetnsNode]):
    """A node with its own network stack, sharing all else with its host. Needs no root."""

    name = "netns"

    def agent(self, node: Node[NetnsNode]) -> Agent:
        """Return an agent in a network namespace of its own, wherever its host's is."""
        return Agent(
            node_agent(node.name),
            NEW,
            isolate=("uts",),
            hostname=node.name,
            cpus=node.cpus,
            capabilities=node.capabilities,
        )


KIND = Netns()
