"""Additions of other packages to the command line, found by entry points; studies are one.

Nothing of an added package is imported until it is asked for.
"""

from __future__ import annotations

from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points

from delaylab.errors import BadInput


class Additions(StrEnum):
    """A group of entry points: what it adds, and what each of them names."""

    VERBS = "delaylab.verbs"
    """Verbs: a module that registers the verb with the application when it is imported."""
    SCHEMAS = "delaylab.schemas"
    """File formats for `schema`: a function that returns the JSON schema."""
    CHECKS = "delaylab.checks"
    """Checks for `doctor`: an object as `delaylab.verbs.checks.MoreChecks` describes it."""
    FORECASTS = "delaylab.forecasts"
    """Forecasts for `doctor --study`: a function as `delaylab.verbs.checks.Forecast` describes."""
    PICTURES = "delaylab.pictures"
    """Pictures for a verb: a function as that verb describes it."""


def names(group: Additions) -> list[str]:
    """Return the names of a group's entry points, sorted."""
    return sorted(_found(group))


def load(group: Additions, name: str) -> object | None:
    """Return what an entry point names, None if there is none of this name.

    Raise BadInput if two packages add the same name.
    """
    entry = _found(group).get(name)
    return None if entry is None else entry.load()


def load_all(group: Additions) -> list[object]:
    """Return what all entry points of a group name, in the order of their names."""
    return [_found(group)[name].load() for name in names(group)]


def _found(group: Additions) -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            both = f"{other.value} and {entry.value}"
            raise BadInput(f"two packages add {entry.name!r}: {both}", fix="uninstall one")
    return found
