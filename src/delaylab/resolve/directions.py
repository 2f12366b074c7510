"""The conditions of each direction of a lab's links, from the start and by the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from delaylab.resolve.lab import Direction, DirectionChange
from delaylab.spec.conditions.directions import (
    changes,
    conditions_of,
    members_meant,
    received_by,
)
from delaylab.spec.conditions.engine import NOTHING, Conditions
from delaylab.spec.conditions.merge import merge
from delaylab.spec.lab import LinkSpec
from delaylab.spec.timeline.model import ChangeSpec

Placed = tuple[int, ChangeSpec]
"""A change of a link, and its place among all changes of the lab."""


def first_conditions(link: LinkSpec) -> dict[str, Conditions]:
    """Return the conditions of what each member of a link sends, from the start."""
    if not link.says_conditions() and not link.sent_from:
        return dict.fromkeys(link.members, NOTHING)
    if not link.sent_from and link.profile is None:
        return dict.fromkeys(link.members, conditions_of(link, link.members[0]))
    return {node: conditions_of(link, node) for node in link.members}


def by_link(timeline: Sequence[ChangeSpec]) -> dict[str, list[Placed]]:
    """Return the changes of each link in the order of their times."""
    found: dict[str, list[Placed]] = {}
    for place, change in enumerate(sorted(timeline, key=lambda change: change.at)):
        found.setdefault(change.link, []).append((place, change))
    return found


def sent(
    link: LinkSpec, first: Mapping[str, Conditions], timeline: Sequence[Placed]
) -> dict[str, Direction]:
    """Return what each member of a link sends; `timeline` has the changes of this link."""
    changed = [each for each in timeline if each[1].to is None]
    return {node: _direction(link, node, first[node], changed) for node in link.members}


def received(link: LinkSpec, timeline: Sequence[Placed]) -> dict[str, Direction]:
    """Return what members receive, of those with conditions for it, now or by the timeline.

    The link's own conditions are no part of these.
    """
    changed = [each for each in timeline if each[1].to is not None]
    meant = {*link.received_by, *(change.to for _, change in changed)}
    return {
        node: _direction(link, node, received_by(link, node), changed, receives=True)
        for node in link.members
        if node in meant
    }


def _direction(
    link: LinkSpec,
    node: str,
    first: Conditions,
    timeline: Sequence[Placed],
    *,
    receives: bool = False,
) -> Direction:
    return Direction(first, tuple(_changes(link, node, first, timeline, receives=receives)))


def _changes(
    link: LinkSpec, node: str, now: Conditions, timeline: Sequence[Placed], *, receives: bool
) -> Iterator[DirectionChange]:
    """Yield the changes of one direction, each relative to the conditions before it."""
    for place, given in timeline:
        if node in members_meant(link, given.to or given.node):
            change = changes(given.conditions, link, node, now, receives=receives)
            now = merge(now, change)
            yield DirectionChange(given.at.ns, place, change, now)
