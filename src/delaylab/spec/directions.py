"""Links as a file gives them -> what is asked of each direction, as the link engine reads it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from delaylab.spec.conditions import ConditionsSpec
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.profiles import Way, contents

Asked = dict[str, Any]
"""Conditions of one direction, in the link engine's form."""


def asked(link: LinkSpec, node: str) -> Asked:
    """What is asked of what a member sends: its own words before the link's.

    Within each, what is named counts more than the profile; `none` takes away.
    """
    own = link.sent_from.get(node)
    levels: list[Asked] = []
    if own is None or "profile" not in own.model_fields_set:
        levels.append(_profile(link, link, node))
    levels.append(link.named())
    if own is not None:
        levels += [_profile(own, link, node), own.named()]
    return _without_none(_merged(levels))


def changes(given: ConditionsSpec, link: LinkSpec, node: str) -> Asked:
    """What a change names for one member; None takes a condition away."""
    return _merged([_profile(given, link, node), given.named()])


def is_conditioned(lab: LabSpec, link: LinkSpec, name: str) -> bool:
    """Whether a link has conditions, at once or by the lab's timeline."""
    now = link.named() or link.profile or link.sent_from
    return bool(now) or any(change.link == name for change in lab.timeline)


def way_of(link: LinkSpec, node: str) -> Way | None:
    """On a link of two the first is the user of a profile, whose way is up."""
    if link.between is None:
        return None
    return "up" if node == link.between[0] else "down"


def members_meant(link: LinkSpec, node: str | None) -> list[str]:
    """The members that a change is for: the one it names, else all."""
    return [node] if node is not None else link.members


def _profile(given: ConditionsSpec, link: LinkSpec, node: str) -> Asked:
    if given.profile is None:
        return {}
    found = contents(given.profile, way_of(link, node))
    return ConditionsSpec.model_validate(found or {}).named()


def _merged(levels: Iterable[Asked]) -> Asked:
    """What later levels name counts; a trace is in place of the rate or delay that it is of."""
    whole: Asked = {}
    for level in levels:
        if level.get("trace"):
            whole.pop(_replaced_by(level["trace"]), None)
        elif whole.get("trace") and level.get(_replaced_by(whole["trace"])) is not None:
            del whole["trace"]
        whole.update(level)
    return whole


def _replaced_by(trace: Asked) -> str:
    return "delay_ns" if trace["kind"] == "delay" else "rate"


def _without_none(level: Asked) -> Asked:
    return {key: value for key, value in level.items() if value is not None}
