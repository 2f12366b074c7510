"""Changes of links' conditions by a lab's timeline, as the study file configured them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from delaylab.analysis.usable import usable
from delaylab.dataset.store import Study
from delaylab.errors import BadInput
from delaylab.spec.source import Document
from delaylab.spec.study.combine import combinations
from delaylab.spec.study.load import study_from
from delaylab.spec.timeline.model import ChangeSpec, LinkEventSpec, MomentSpec, NodeEventSpec

SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class Change:
    """Change of a link, in words, at a time in s counted from the start of the load."""

    at_s: float
    what: str


class Changes:
    """The changes of each combination of a study's levels."""

    def __init__(self, of_levels: list[tuple[Mapping[str, str], list[Change]]]) -> None:
        """Take the changes by levels."""
        self._of_levels = of_levels

    def of(self, levels: Mapping[str, str]) -> list[Change]:
        """Return the changes in trials of these levels, none if they are not known."""
        return next((found for known, found in self._of_levels if known == levels), [])


NONE = Changes([])


def changes(study: Study) -> Changes:
    """Return a study's changes; none if this version cannot read its study file."""
    spec = study.record.spec
    # Most studies have no timeline, and to work out all combinations takes time.
    if "timeline" not in json.dumps(spec):
        return NONE
    document = Document(str(study.directory / "study.json"), spec, {})
    try:
        with usable(str(study.directory)):
            found = list(combinations(study_from(document), study.record.scale))
    except BadInput:
        return NONE
    return Changes(
        [(each.levels, [_moment(moment) for moment in each.lab.timeline]) for each in found]
    )


def _moment(spec: MomentSpec) -> Change:
    if isinstance(spec, LinkEventSpec | NodeEventSpec):
        return Change(spec.at.ns / SECOND_NS, spec.words)
    assert isinstance(spec, ChangeSpec)
    return _change(spec)


def _change(spec: ChangeSpec) -> Change:
    conditions = spec.conditions.model_dump(mode="json", by_alias=True, exclude_unset=True)
    said = ", ".join(f"{name} {_in_words(value)}" for name, value in conditions.items())
    link = f"{spec.link} from {spec.node}" if spec.node else spec.link
    return Change(spec.at.ns / SECOND_NS, f"{link}: {said}")


def _in_words(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        # The share of a loss is what its short form gives: `loss: 1%`.
        parts = (
            _in_words(part) if name == "share" else _part(name, part)
            for name, part in value.items()
        )
        return " ".join(parts)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _part(name: str, value: object) -> str:
    return name if value is None else f"{name} {_in_words(value)}"
