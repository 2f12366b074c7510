"""Packages that nodes need besides those that the file gives them, such as for a study's work."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from delaylab.spec.kinds import HostedNode, ImageNode, NodeSpec
from delaylab.spec.lab import LabSpec


def with_packages(lab: LabSpec, needed: Mapping[str, Collection[str]]) -> LabSpec:
    """Return a lab whose nodes have these packages, too, by node. Counts are written out.

    A node with an image of its own stays as it is: that image has the programs, or they fail.
    """
    if not any(needed.values()):
        return lab
    nodes = {name: _with(spec, needed.get(name, ())) for name, spec in lab.nodes.items()}
    return lab.model_copy(update={"nodes": nodes})


def _with(spec: NodeSpec, needed: Collection[str]) -> NodeSpec:
    keeps = isinstance(spec, ImageNode) and spec.image is not None
    if not needed or keeps or not isinstance(spec, HostedNode):
        return spec
    return spec.model_copy(update={"packages": sorted({*(spec.packages or ()), *needed})})
