"""The routing that a lab file gives a node."""

from __future__ import annotations

from delaylab.spec.lab import LabSpec
from delaylab.spec.routing.model import RoutingSpec, merged


def routing_of(lab: LabSpec, node: str) -> RoutingSpec | None:
    """Return the routing of a node: its own, and the lab's if it is a router; None if none."""
    spec = lab.nodes[node]
    return merged(lab.routing if spec.forwards else None, spec.routing)
