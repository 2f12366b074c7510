"""Checks of the events in a lab's timeline: what they name exists, and each can happen."""

from __future__ import annotations

from delaylab.spec.expand import expand
from delaylab.spec.lab import LabSpec
from delaylab.spec.names import Names
from delaylab.spec.names import names as names_in
from delaylab.spec.source import Document, Location, Problems
from delaylab.spec.timeline.model import LinkEventSpec, NodeEventSpec
from delaylab.spec.timeline.steps import Impossible, has_events, steps


def check_timeline(
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
    problems.found += unknown
    if not unknown and has_events(lab):
        problems.gather(lambda: _check_order(lab, document, at))


MOST_SHOWN = 20
"""The most names that an error lists."""


def _check_order(lab: LabSpec, document: Document, at: Location) -> None:
    """Raise BadInput for an event that cannot happen after those before it."""
    try:
        steps(expand(lab))
    except Impossible as error:
        fix = "look at the events before it"
        raise document.refuse(str(error), (*at, "timeline", error.place), fix) from None
