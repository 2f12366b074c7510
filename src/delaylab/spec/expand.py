"""`count: N` on a node -> N nodes: NAME-1, NAME-2 … wherever the name was used."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.spec.lab import ChangeSpec, LabSpec, LinkSpec
from delaylab.spec.study import LoadSpec

Names = dict[str, list[str]]


def names(lab: LabSpec) -> Names:
    """Each node of the file and the nodes that it stands for."""
    return {
        name: [name] if spec.count is None else [f"{name}-{i}" for i in range(1, spec.count + 1)]
        for name, spec in lab.nodes.items()
    }


def expand(lab: LabSpec) -> LabSpec:
    """The lab with every node written out. Links that are left with one member are gone."""
    all_names = names(lab)
    if all(spec.count is None for spec in lab.nodes.values()):
        return lab
    nodes = {
        each: spec.model_copy(update={"count": None})
        for name, spec in lab.nodes.items()
        for each in all_names[name]
    }
    links = [_link(link, all_names) for link in lab.links]
    kept = [link for link in links if len(link.members) > 1]
    timeline = [each for change in lab.timeline for each in _changes(change, all_names)]
    return lab.model_copy(update={"nodes": nodes, "links": kept, "timeline": timeline})


def expand_loads(loads: Iterable[LoadSpec], all_names: Names) -> tuple[LoadSpec, ...]:
    """A load on a node that stands for many is on each of them."""
    return tuple(
        load.model_copy(update={"on": name}) for load in loads for name in all_names[load.on]
    )


def _link(link: LinkSpec, all_names: Names) -> LinkSpec:
    if link.join is None:
        return link
    members = [each for name in link.join for each in all_names[name]]
    sent = {each: said for name, said in link.sent_from.items() for each in all_names[name]}
    return link.model_copy(update={"join": members, "sent_from": sent})


def _changes(change: ChangeSpec, all_names: Names) -> list[ChangeSpec]:
    if change.node is None:
        return [change]
    return [change.model_copy(update={"node": each}) for each in all_names[change.node]]
