"""The routing daemons of a lab, given to each of its routers, with what the daemons need."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.spec.capabilities import Capability
from delaylab.spec.kinds import HostedNode, ImageNode, NodeSpec, ProcessNode
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.routing.given import routing_of
from delaylab.spec.routing.model import PACKAGES, RoutingSpec

CAPABILITIES: Mapping[str, frozenset[Capability]] = {
    "frr": frozenset({"sys_admin"}),
    "bird": frozenset(),
}
"""Capabilities that a daemon asks for when it starts, in addition to those of every node."""


def with_daemons(lab: LabSpec) -> LabSpec:
    """Return a lab whose routers each name their routing, and have its packages and capabilities.

    A node with an image of its own keeps it: that image has the daemons, or the node fails.
    """
    found = {name: routing_of(lab, name) for name in lab.nodes}
    if lab.routing is None and not any(found.values()):
        return lab
    nodes = {name: _with(spec, found[name]) for name, spec in lab.nodes.items()}
    links = [_that_can_fail(lab, link) for link in lab.links]
    return lab.model_copy(update={"nodes": nodes, "links": links})


def _that_can_fail(lab: LabSpec, link: LinkSpec) -> LinkSpec:
    """Return a link that can be taken down while the lab runs: a link engine carries it.

    Where nodes of one stack or an interface of this machine are on it, and with `engine: kernel`, a
    link without conditions stays as it is.
    """
    ends = [lab.nodes[node] for node in link.members]
    plain = any(not each.own_stack or each.outside is not None for each in ends)
    in_kernel = any(lab.engine_on(lab.host_of(node)).kind == "kernel" for node in link.members)
    if plain or in_kernel or link.is_conditioned or len(ends) < 2:
        return link
    return link.model_copy(update={"state": "up"})


def _with(spec: NodeSpec, routing: RoutingSpec | None) -> NodeSpec:
    if routing is None:
        return spec
    update: dict[str, object] = {"routing": routing}
    if isinstance(spec, HostedNode) and not (isinstance(spec, ImageNode) and spec.image):
        update["packages"] = sorted({*(spec.packages or ()), PACKAGES[routing.by]})
    if isinstance(spec, ProcessNode):
        wanted = {*(spec.capabilities or ()), *CAPABILITIES[routing.by]}
        update["capabilities"] = sorted(wanted) or None
    return spec.model_copy(update=update)
