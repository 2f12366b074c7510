"""A shared stack: own processes, mounts and cgroup, the host's network, as Linux-VServer has."""

from __future__ import annotations

from delaylab.kinds.native import NEEDS_ROOT, REMEDY
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent
from delaylab.resolve.agent_names import node_agent
from delaylab.spec.kinds import SharedNode


class Shared(Kind[SharedNode]):
    """A node isolated except for the network: the host's stack, with its own address there."""

    name = "shared"

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return a reason unless the host is a namespace or this user is root."""
        return NEEDS_ROOT + REMEDY if on_machine and not rights.root else None

    def agent(self, node: Node[SharedNode]) -> Agent:
        """Return an agent in the host's network, with its own PID, mount, UTS, IPC namespaces."""
        isolate = ("pid", "mount", "uts", "ipc")
        return Agent(
            node_agent(node.name),
            node.network,
            isolate=isolate,
            hostname=node.name,
            cpus=node.cpus,
            capabilities=node.capabilities,
        )


KIND = Shared()
