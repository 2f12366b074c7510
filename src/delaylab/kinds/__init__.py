"""Node kinds: one module each. A node is only ever driven through its agent."""

from __future__ import annotations

from delaylab.kinds import native, netns, shared
from delaylab.plan.kind import Kind, Rights

KINDS: dict[str, Kind] = {"native": native.KIND, "shared": shared.KIND, "netns": netns.KIND}

__all__ = ["KINDS", "Kind", "Rights"]
