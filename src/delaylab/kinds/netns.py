"""A network namespace: own stack, virtual interface, bridge; as an OpenVZ container has."""

from __future__ import annotations

from delaylab.plan.kind import Rights
from delaylab.plan.model import NEW, Agent, node_agent


class Netns:
    """Own network stack, everything else shared with the host."""

    name = "netns"
    own_stack = True

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Always: root makes namespaces, an ordinary user makes them in a user namespace."""
        return None

    def agent(self, node: str, network: str, cpus: tuple[int, ...] | None) -> Agent:
        """An agent in a network namespace of its own; `network` does not matter."""
        return Agent(
            node_agent(node),
            NEW,
            isolate=("uts",),
            hostname=node,
            cpus=cpus,
        )


KIND = Netns()
