"""A check of the events in a lab's timeline: what they name exists."""

from __future__ import annotations

from delaylab.spec.lab import LabSpec
from delaylab.spec.names import Names
from delaylab.spec.names import names as names_in
from delaylab.spec.source import Document, Location, Problems
from delaylab.spec.timeline.model import LinkEventSpec, NodeEventSpec


def check_events(
    lab: LabSpec, links: Names, document: Document, at: Location, problems: Problems
) -> None:
    """Collect the errors in the events of a lab whose nodes and links are right.

    `links` are those of the file, each with those that it stands for.
    """
    nodes = names_in(lab)
    unknown = []
    for index, moment in enumerate(lab.timeline):
        where = (*at, "timeline", index)
        if isinstance(moment, LinkEventSpec):
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


MOST_SHOWN = 20
"""The most names that an error lists."""
