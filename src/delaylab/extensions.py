"""Additions of other packages to the command line, found by entry points; studies are one.

Nothing of an added package is imported until it is asked for. The files of entry points are read
here, since to import `importlib.metadata` takes a tenth of the time of `delaylab --help`
(`tests/test_extensions.py` compares).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module

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
    place = _found(group).get(name)
    return None if place is None else _loaded(place)


def load_all(group: Additions) -> list[object]:
    """Return what all entry points of a group name, in the order of their names."""
    return [_loaded(place) for _, place in sorted(_found(group).items())]


def _found(group: Additions) -> dict[str, str]:
    """Return the entry points of a group: a module, or `MODULE:NAME`, by name."""
    found: dict[str, str] = {}
    for name, place in entries(group):
        if (other := found.setdefault(name, place)) != place:
            both = f"{other} and {place}"
            raise BadInput(f"two packages add {name!r}: {both}", fix="uninstall one")
    return found


def _loaded(place: str) -> object:
    module, _, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def entries(group: str) -> Iterator[tuple[str, str]]:
    """Yield the names and places of a group's entry points in all installed packages."""
    for file in _files():
        try:
            with open(file, encoding="utf-8") as lines:  # noqa: PTH123  pathlib takes 3 ms
                yield from _of_group(lines, group)
        except OSError:
            continue  # most packages have none


def _files() -> Iterator[str]:
    """Yield the files that the entry points of packages may be in."""
    for folder in dict.fromkeys(sys.path):
        try:
            with os.scandir(folder or os.curdir) as inside:
                for each in inside:
                    if each.name.endswith((".dist-info", ".egg-info")):
                        yield os.path.join(each.path, "entry_points.txt")  # noqa: PTH118  as above
        except OSError:
            continue  # a folder that is not there, or an archive


def _of_group(lines: Iterator[str], group: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of one section of a file of entry points."""
    inside = False
    for line in map(str.strip, lines):
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, place = line.partition("=")
            # An extra that the entry point needs may follow: `module:name [extra]`.
            yield name.strip(), place.partition("[")[0].strip()
