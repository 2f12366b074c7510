"""Changes of links' conditions by a lab's timeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from delaylab.dataset.store import Study


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
    # Most studies have no timeline, and to work out all combinations takes time. So does the import
    # of the models of study files.
    if "timeline" not in json.dumps(spec):
        return NONE
    from delaylab.analysis.over_time.timelines import configured  # noqa: PLC0415  as above

    return Changes(configured(study))
