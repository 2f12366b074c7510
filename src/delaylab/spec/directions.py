"""Links of a lab file -> the conditions of each direction, in the link engine's form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from delaylab.spec.conditions import ConditionsSpec
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.merge import merge
from delaylab.spec.profiles import Way, contents

Asked = dict[str, Any]
"""The conditions of one direction, in the link engine's form."""


def asked(link: LinkSpec, node: str) -> Asked:
    """Return the conditions of the frames that a member sends; its own override the link's.

    At each of the two levels, named conditions override the profile's, and `none` removes one.
    """
    own = link.sent_from.get(node)
    levels: list[Asked] = []
    if own is None or "profile" not in own.model_fields_set:
        levels.append(_profile(link, link, node))
    levels.append(link.named())
    if own is not None:
        levels += [_profile(own, link, node), own.named()]
    return _merged(levels)


def changes(given: ConditionsSpec, link: LinkSpec, node: str, now: Asked) -> Asked:
    """Return the fields that a change sets for one member, whose conditions are `now`.

    None removes a condition.
    """
    named = merge_changes(_profile(given, link, node), given.named())
    return _in_place_of_a_trace(now, named)


def is_conditioned(lab: LabSpec, link: LinkSpec, name: str) -> bool:
    """Return True if a link has conditions, from the start or by the lab's timeline."""
    now = link.named() or link.profile or link.sent_from
    return bool(now) or any(change.link == name for change in lab.timeline)


def way_of(link: LinkSpec, node: str) -> Way | None:
    """Return a member's direction on a link of two: the first member, a profile's user, sends up.

    Returns None if the link is not point-to-point.
    """
    if link.between is None:
        return None
    return "up" if node == link.between[0] else "down"


def members_meant(link: LinkSpec, node: str | None) -> list[str]:
    """Return the members that a change is for: the given one, else all."""
    return [node] if node is not None else link.members


def _profile(given: ConditionsSpec, link: LinkSpec, node: str) -> Asked:
    if given.profile is None:
        return {}
    found = contents(given.profile, way_of(link, node))
    return ConditionsSpec.model_validate(found or {}).named()


def _merged(levels: Iterable[Asked]) -> Asked:
    """Merge levels of conditions; later levels override earlier ones."""
    whole: Asked = {}
    for level in levels:
        whole = merge(whole, _in_place_of_a_trace(whole, level))
        if whole.get("trace"):
            whole.pop(_replaced_by(whole["trace"]), None)
    return whole


def merge_changes(first: Asked, second: Asked) -> Asked:
    """Return two changes as one; what the second removes stays removed."""
    removed = {key: None for key, value in second.items() if value is None}
    return merge(first, second) | removed


def _in_place_of_a_trace(now: Asked, named: Asked) -> Asked:
    """Return a change that also removes a trace of the rate or delay that it names.

    The trace would otherwise override the named value.
    """
    trace = now.get("trace")
    if trace and "trace" not in named and named.get(_replaced_by(trace)) is not None:
        return {**named, "trace": None}
    return named


def _replaced_by(trace: Asked) -> str:
    return "delay_ns" if trace["kind"] == "delay" else "rate"
