"""Limits of what a lab file expands to, checked before anything is expanded."""

from __future__ import annotations

from math import prod

from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.names import origins
from delaylab.spec.source import Document, Location

MOST_HOSTS = 1000
MOST_NODES = 10_000
MOST_LINKS = 10_000
MOST_ENDS = 50_000
"""The most ends of links: a link that joins 100 nodes has 100 of them."""
MOST_CHANGES = 10_000


def check_counts(lab: LabSpec, document: Document, at: Location = ()) -> None:
    """Raise BadInput for a lab larger than any that could start."""
    stands_for = {name: _count(lab, name) for name in lab.nodes}
    nodes = sum(stands_for.values())
    if nodes > MOST_NODES:
        what = f"the lab has {nodes} nodes, each `count:` written out; at most {MOST_NODES}"
        raise document.refuse(what, (*at, "nodes"))
    stands_for |= {name: 1 for name in origins(lab) if name not in lab.nodes}
    sizes = [_links_and_ends(link, stands_for) for link in lab.links]
    counted = (
        ("hosts", "hosts", len(lab.hosts), MOST_HOSTS),
        ("links", "links, each `count:` written out", sum(n for n, _ in sizes), MOST_LINKS),
        ("links", "ends of links, each `count:` written out", sum(e for _, e in sizes), MOST_ENDS),
        ("timeline", "changes", len(lab.timeline), MOST_CHANGES),
    )
    for field, what, found, most in counted:
        if found > most:
            raise document.refuse(f"the lab has {found} {what}; at most {most}", (*at, field))


def _count(lab: LabSpec, node: str) -> int:
    count = lab.nodes[node].count
    return 1 if count is None else count


def _links_and_ends(link: LinkSpec, stands_for: dict[str, int]) -> tuple[int, int]:
    # Members that are not nodes are refused later, with their line.
    members = [stands_for.get(member, 0) for member in link.members]
    if link.join is not None:
        return 1, sum(members)
    # Nodes that stand for equally many are joined one by one.
    count = members[0] if members[0] == members[1] else prod(members)
    return count, 2 * count
