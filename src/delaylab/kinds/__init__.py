"""Node kinds, one module each. A node is only ever driven through its agent."""

from __future__ import annotations

from delaylab.kinds import docker, lxc, native, netns, qemu, shared, uml, xen
from delaylab.plan.kind import AnyKind, Kind, Node, Rights

_ALL = (native, shared, netns, lxc, docker, qemu, uml, xen)
KINDS: dict[str, AnyKind] = {module.KIND.name: module.KIND for module in _ALL}

__all__ = ["KINDS", "Kind", "Node", "Rights"]
