"""Links of a lab file -> the conditions of each direction, in the link engine's form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Protocol

from delaylab.spec.conditions.engine import NOTHING, Conditions, DelayTrace, Trace, made_of
from delaylab.spec.conditions.merge import merge, merge_changes, without
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.conditions.profiles import UpDown, contents
from delaylab.spec.lab import LinkSpec


class Joining(Protocol):
    """A link of a file or a resolved one, as far as its ends matter."""

    @property
    def members(self) -> Sequence[str]:
        """Return the nodes that the link joins."""

    @property
    def is_pair(self) -> bool:
        """Return True if it is a point-to-point link."""


def conditions_of(link: LinkSpec, node: str) -> Conditions:
    """Return the conditions of the frames that a member sends; its own override the link's.

    At each of the two levels, named conditions override the profile's, and `none` removes one.
    """
    own = link.sent_from.get(node)
    if own is None and not link.says_conditions():
        return NOTHING
    levels: list[Conditions] = []
    if own is None or "profile" not in own.model_fields_set:
        levels.append(_profile(link, link, node))
    levels.append(link.named())
    if own is not None:
        levels += [_profile(own, link, node), own.named()]
    return _merged(levels)


def received_by(link: LinkSpec, node: str) -> Conditions:
    """Return the conditions that frames for a member pass after those of their sender.

    The link's own are no part of them.
    """
    own = link.received_by.get(node)
    if own is None:
        return NOTHING
    return _merged([_profile(own, link, node, receives=True), own.named()])


def changes(
    given: ConditionsSpec,
    link: Joining,
    node: str,
    now: Conditions,
    *,
    receives: bool = False,
) -> Conditions:
    """Return the fields that a change sets for one member, whose conditions are `now`.

    With `receives` it is of what the member receives. None removes a condition.
    """
    named = merge_changes(_profile(given, link, node, receives=receives), given.named())
    return _in_place_of_a_trace(now, named)


def way_of(link: Joining, node: str, *, receives: bool = False) -> UpDown | None:
    """Return a member's direction on a link of two: the first member, a profile's user, sends up.

    With `receives` it is the direction of what the member receives. Returns None if the link is not
    point-to-point.
    """
    if not link.is_pair:
        return None
    return "up" if (node == link.members[0]) != receives else "down"


def members_meant(link: Joining, node: str | None) -> Sequence[str]:
    """Return the members that a change applies to: the given one, else all."""
    return [node] if node is not None else link.members


def _profile(
    given: ConditionsSpec, link: Joining, node: str, *, receives: bool = False
) -> Conditions:
    if given.profile is None:
        return NOTHING
    return _contents(given.profile, way_of(link, node, receives=receives))


@cache
def _contents(profile: str, way: UpDown | None) -> Conditions:
    return ConditionsSpec.model_validate(contents(profile, way) or {}).named()


def _merged(levels: Iterable[Conditions]) -> Conditions:
    """Merge levels of conditions; later levels override earlier ones."""
    whole = NOTHING
    for level in filter(None, levels):
        whole = merge(whole, _in_place_of_a_trace(whole, level))
        if whole.trace is not None:
            whole = without(whole, {_replaced_by(whole.trace)})
    return whole


def _in_place_of_a_trace(now: Conditions, change: Conditions) -> Conditions:
    """Return a change that also removes a trace of the rate or delay that it names.

    The trace would otherwise override the named value.
    """
    named = change.named
    if now.trace is None or "trace" in named or named.get(_replaced_by(now.trace)) is None:
        return change
    return made_of(Conditions, {**named, "trace": None})


def _replaced_by(trace: Trace) -> str:
    return "delay_ns" if isinstance(trace, DelayTrace) else "rate"
