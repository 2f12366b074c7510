"""Names of a lab file and the names they expand to, where `count: N` makes many nodes of one."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from itertools import count

from delaylab.spec.lab import LabSpec, LinkSpec

MOST_LETTERS = 31
"""The longest name of a link (`Name`)."""
Names = dict[str, list[str]]
"""A name in the file -> the names that it stands for, in order."""
NamedLinks = list[tuple[str, LinkSpec]]
"""The links of a file in order, each with its name."""


def nodes_made(lab: LabSpec) -> Names:
    """Return each node of the file with the nodes that it stands for."""
    return {
        name: [name] if spec.count is None else [f"{name}-{i}" for i in range(1, spec.count + 1)]
        for name, spec in lab.nodes.items()
    }


def names(lab: LabSpec) -> Names:
    """Return each name of a node with the nodes that it stands for.

    One of the nodes that a count makes has a name too, such as `router-2`, which stands for itself.
    """
    made = nodes_made(lab)
    return {**{each: [each] for several in made.values() for each in several}, **made}


def origins(lab: LabSpec) -> dict[str, str]:
    """Return each name of a node with the node of the file that it comes from."""
    made = nodes_made(lab)
    return {
        **{each: name for name, several in made.items() for each in several},
        **{name: name for name in made},
    }


def named_links(lab: LabSpec) -> NamedLinks:
    """Return the links with their names, in order.

    A link without a name has one made of its members, `a-b` or `lan-a`; the second such link is
    `a-b-2`. So another link that is added or removed does not change it. Only given names can be
    in the list twice.
    """
    taken = {link.name for link in lab.links}
    found: NamedLinks = []
    for link in lab.links:
        name = link.name or _from_members(link)
        if link.name is None and name in taken:
            name = _numbered(name, taken)
        taken.add(name)
        found.append((name, link))
    return found


def _from_members(link: LinkSpec) -> str:
    name = "-".join(link.members) if link.is_pair else f"lan-{link.members[0]}"
    if len(name) > MOST_LETTERS:
        digest = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
        name = f"{name[: MOST_LETTERS - len(digest) - 1]}-{digest}"
    return name


def _numbered(name: str, taken: Collection[str | None]) -> str:
    numbered = (f"{name[: MOST_LETTERS - 6]}-{number}" for number in count(2))
    return next(each for each in numbered if each not in taken)


def links_of(lab: LabSpec, links: NamedLinks) -> Names:
    """Return each link of the file with the links that it stands for."""
    return {name: _links(lab, link, name) for name, link in links}


def is_many(lab: LabSpec, link: LinkSpec) -> bool:
    """Return True if a link of the file stands for a link to each of many nodes."""
    return link.between is not None and bool(counted(lab, link))


def counted(lab: LabSpec, link: LinkSpec) -> dict[str, int]:
    """Return the members of a link that stand for many nodes, each with their number."""
    return {
        node: count
        for node in link.members
        if node in lab.nodes and (count := lab.nodes[node].count) is not None
    }


def _links(lab: LabSpec, link: LinkSpec, name: str) -> list[str]:
    many = counted(lab, link)
    if link.between is None or not many:
        return [name]
    count = max(many.values())
    return [f"{name}-{number}" for number in range(1, count + 1)]
