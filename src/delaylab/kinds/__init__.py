"""Node kinds: one module each. A node is only ever driven through its agent."""

from __future__ import annotations

from delaylab.kinds import docker, lxc, native, netns, qemu, shared, uml
from delaylab.plan.kind import Kind, Node, Rights

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (native.KIND, shared.KIND, netns.KIND, lxc.KIND, docker.KIND, qemu.KIND, uml.KIND)
}

__all__ = ["KINDS", "Kind", "Node", "Rights"]
