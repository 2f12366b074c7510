"""No virtualisation: processes in the host's own stack; the paper's vanilla Linux."""

from __future__ import annotations

from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent
from delaylab.resolve.agent_names import node_agent
from delaylab.spec.kinds import NativeNode

NEEDS_ROOT = "its host is this machine itself, whose interfaces only root may add to; "
REMEDY = "run as root, or name a host in the lab file, which is then a namespace"


class Native(Kind[NativeNode]):
    """A node of plain processes of its host."""

    name = "native"

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return a reason unless the host is a namespace or this user is root."""
        return NEEDS_ROOT + REMEDY if on_machine and not rights.root else None

    def agent(self, node: Node[NativeNode]) -> Agent:
        """Return an agent in the host's network."""
        return Agent(
            node_agent(node.name), node.network, cpus=node.cpus, capabilities=node.capabilities
        )


KIND = Native()
