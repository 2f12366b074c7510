"""No virtualisation: the node is processes in its host's own stack; the paper's vanilla Linux."""

from __future__ import annotations

from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, node_agent

NEEDS_ROOT = "its host is this machine itself, whose interfaces only root may add to; "
REMEDY = "run as root, or name a host in the lab file, which is then a namespace"


class Native(Kind):
    """Processes of the host."""

    name = "native"
    own_stack = False

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """On a host that is a namespace always, on this machine itself as root."""
        return NEEDS_ROOT + REMEDY if on_machine and not rights.root else None

    def agent(self, node: Node) -> Agent:
        """An agent in the host's network."""
        return Agent(
            node_agent(node.name), node.network, cpus=node.cpus, capabilities=node.capabilities
        )


KIND = Native()
