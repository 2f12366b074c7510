"""The links whose networks OSPF does not announce (RFC 6860)."""

from __future__ import annotations

from delaylab.spec.lab import LabSpec
from delaylab.spec.names import named_links
from delaylab.spec.routing.model import RoutingSpec


def hidden_links(lab: LabSpec) -> frozenset[str]:
    """Return the links that join two routers, both of which suppress the prefixes of such links."""
    suppressing = {
        name
        for name, spec in lab.nodes.items()
        if isinstance(spec.routing, RoutingSpec)
        and spec.routing.ospf is not None
        and spec.routing.ospf.prefix_suppression
    }
    return frozenset(
        name
        for name, link in named_links(lab)
        if link.between is not None and suppressing.issuperset(link.members)
    )
