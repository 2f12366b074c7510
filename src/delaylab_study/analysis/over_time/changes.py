"""Changes of links' conditions by a lab's timeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from delaylab_study.dataset.store import Study


@dataclass(frozen=True, slots=True)
class ChangeInWords:
    """A change of a link, in words, at a time in s counted from the start of the load."""

    at_s: float
    what: str


class Changes:
    """The changes of each combination of a study's levels."""

    def __init__(self, of_levels: list[tuple[Mapping[str, str], list[ChangeInWords]]]) -> None:
        """Take the changes by levels."""
        self._of_levels = of_levels

    def of(self, levels: Mapping[str, str]) -> list[ChangeInWords]:
        """Return the changes in trials of these levels, none if they are not known."""
        return next((found for known, found in self._of_levels if known == levels), [])


NONE = Changes([])


def may_have_changes(study: Study) -> bool:
    """Return True if a lab of the study has a timeline; most have none."""
    return "timeline" in json.dumps(study.record.spec)
