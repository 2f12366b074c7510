"""Names of a lab file and the names they expand to, where `count: N` makes many nodes of one."""

from __future__ import annotations

from delaylab.spec.lab import LabSpec, LinkSpec

Names = dict[str, list[str]]
"""A name in the file -> the names that it stands for, in order."""


def names(lab: LabSpec) -> Names:
    """Return each node of the file with the nodes that it stands for."""
    return {
        name: [name] if spec.count is None else [f"{name}-{i}" for i in range(1, spec.count + 1)]
        for name, spec in lab.nodes.items()
    }


def link_name(lab: LabSpec, index: int) -> str:
    """Return a link's name: the given one, or one made from its place in the file."""
    link = lab.links[index]
    return link.name or ("lan" if link.join else "link") + (f"{index}" if index else "")


def links_of(lab: LabSpec) -> Names:
    """Return each link of the file with the links that it stands for."""
    return {
        link_name(lab, index): _links(lab, link, link_name(lab, index))
        for index, link in enumerate(lab.links)
    }


def costs(lab: LabSpec) -> dict[str, int]:
    """Return the costs of links by name; a link that is left out costs 1."""
    return {
        link_name(lab, index): link.cost for index, link in enumerate(lab.links) if link.cost != 1
    }


def is_many(lab: LabSpec, link: LinkSpec) -> bool:
    """Return True if a link of the file stands for a link to each of many nodes."""
    return link.between is not None and any(lab.nodes[n].count is not None for n in link.between)


def _links(lab: LabSpec, link: LinkSpec, name: str) -> list[str]:
    if not is_many(lab, link):
        return [name]
    count = max(lab.nodes[node].count or 0 for node in link.members)
    return [f"{name}-{number}" for number in range(1, count + 1)]
