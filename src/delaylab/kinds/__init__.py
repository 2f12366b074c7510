"""Node kinds, one module each. A node is only ever driven through its agent."""

from __future__ import annotations

from typing import Any

from delaylab.kinds import docker, lxc, native, netns, qemu, shared, uml, xen
from delaylab.plan.kind import Kind, Node, Rights

_ALL = (native, shared, netns, lxc, docker, qemu, uml, xen)
KINDS: dict[str, Kind[Any]] = {module.KIND.name: module.KIND for module in _ALL}

__all__ = ["KINDS", "Kind", "Node", "Rights"]
