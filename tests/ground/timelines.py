"""The changes of links by a lab's timeline."""

from __future__ import annotations

from delaylab.resolve.lab import Lab
from delaylab.spec.timeline.model import ChangeSpec


def changes_of_links(lab: Lab) -> list[ChangeSpec]:
    """Return the changes of a lab's links, also those by events, in order."""
    return [change for step in lab.steps for change in step.changes]
