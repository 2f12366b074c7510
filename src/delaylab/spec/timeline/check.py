"""A check of the events in a lab's timeline: what they name exists."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab.errors import BadInput
from delaylab.spec.lab import LabSpec
from delaylab.spec.names import Names, named_links
from delaylab.spec.names import names as names_in
from delaylab.spec.routing.given import routing_of
from delaylab.spec.source import Document, Location, Problems
from delaylab.spec.timeline.model import CostEventSpec, LinkEventSpec, NodeEventSpec


def check_events(
    lab: LabSpec, links: Names, document: Document, at: Location, problems: Problems
) -> None:
    """Collect the errors in the events of a lab whose nodes and links are right.

    `links` are those of the file, each with those that it stands for.
    """
    nodes = names_in(lab)
    unknown: list[BadInput] = []
    for index, moment in enumerate(lab.timeline):
        where = (*at, "timeline", index)
        if isinstance(moment, CostEventSpec) and not _have_costs(lab):
            what = "`cost` needs daemons of OSPF or IS-IS that delaylab configures: none here"
            problems.errors.append(document.refuse(what, (*where, "cost"), "say `routing: ospf`"))
            continue
        if isinstance(moment, CostEventSpec):
            unknown += _strange_ends(lab, moment, links, document, where)
        if isinstance(moment, LinkEventSpec | CostEventSpec):
            what, known, named = "link", links, moment.links
        elif isinstance(moment, NodeEventSpec):
            what, known, named = "node", nodes, moment.nodes
        else:
            continue
        shown = list(links if what == "link" else lab.nodes)
        fix = f"{what}s: {', '.join(shown[:MOST_SHOWN]) or 'none'}"
        unknown += [
            document.refuse(f"no {what} {name!r}", (*where, moment.did), fix)
            for name in named
            if name not in known
        ]
    problems.errors += unknown


def _have_costs(lab: LabSpec) -> bool:
    """Return True if a router speaks a protocol that has costs of links."""
    found = (routing_of(lab, name) for name in lab.nodes)
    return any(each is not None and (each.ospf or each.isis) for each in found)


def _strange_ends(
    lab: LabSpec, moment: CostEventSpec, links: Names, document: Document, where: Location
) -> Iterator[BadInput]:
    """Yield an error for each node that is not on the link whose cost it is to change."""
    of_link = {name: link.members for name, link in named_links(lab)}
    made = names_in(lab)
    for link, node, _ in moment.ends:
        members = of_link.get(link, ())
        every = {*members, *(each for member in members for each in made[member])}
        if node is not None and link in links and node not in every:
            fix = f"members: {', '.join(members)}"
            what = f"{node!r} is not on link {link!r}"
            yield document.refuse(what, (*where, "cost", link), fix)


MOST_SHOWN = 20
"""The most names that an error lists."""
