"""A shared stack: own processes, mounts and cgroup, the host's network; as Linux-VServer has."""

from __future__ import annotations

from delaylab.kinds.native import NEEDS_ROOT, REMEDY
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, node_agent


class Shared(Kind):
    """Isolated but for the network: the host's stack, an own address on the host's interface."""

    name = "shared"
    own_stack = False

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """On a host that is a namespace always, on this machine itself as root."""
        return NEEDS_ROOT + REMEDY if on_machine and not rights.root else None

    def agent(self, node: Node) -> Agent:
        """An agent in the host's network, in PID, mount, UTS and IPC namespaces of its own."""
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
