"""Packages that work needs, added to those of the nodes that do it."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.spec.kinds import HostedNode, ImageNode, NodeSpec
from delaylab.spec.lab import LabSpec
from delaylab.spec.study.work import WorkSpec


def with_needs(lab: LabSpec, work: Iterable[WorkSpec]) -> LabSpec:
    """Return a lab whose nodes have the packages of their work, too. Counts are written out.

    A node with an image of its own stays as it is: that image has the programs, or the work fails.
    """
    needed: dict[str, set[str]] = {}
    for each in work:
        for node in each.nodes:
            needed.setdefault(node, set()).update(each.needs)
    nodes = {name: _with(spec, needed.get(name, set())) for name, spec in lab.nodes.items()}
    return lab.model_copy(update={"nodes": nodes}) if nodes != lab.nodes else lab


def without_packages(lab: LabSpec, work: WorkSpec) -> str | None:
    """Return the first node of a work that needs packages and is of a kind that gets none."""
    nodes = work.nodes if work.needs else ()
    return next((node for node in nodes if not isinstance(lab.nodes[node], HostedNode)), None)


def _with(spec: NodeSpec, needed: set[str]) -> NodeSpec:
    keeps = isinstance(spec, ImageNode) and spec.image is not None
    if not needed or keeps or not isinstance(spec, HostedNode):
        return spec
    return spec.model_copy(update={"packages": sorted({*(spec.packages or ()), *needed})})
