"""Additions of other packages to the command line, such as studies, found by entry points.

Nothing of an added package is imported until it is asked for. The files of entry points are read
here, since to import `importlib.metadata` takes a tenth of the time of `delaylab --help`
(`tests/test_extensions.py` compares).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module

from delaylab.errors import BadInput, DelaylabError
from delaylab.extras import is_extra

WHAT = "additions"


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


@dataclass(frozen=True)
class EntryPoint:
    """An entry point of an installed package: its name, and where to find what it names."""

    name: str
    value: str
    """`MODULE:ATTRIBUTE`, or a module alone."""

    @property
    def module(self) -> str:
        """Return the module."""
        return self.value.partition(":")[0]

    @property
    def attribute(self) -> str:
        """Return the name in the module, empty for the module itself."""
        return self.value.partition(":")[2]

    def load(self) -> object:
        """Return what it names; raise DelaylabError if that cannot be imported.

        ModuleNotFoundError stays one for packages that `extras.needed` explains.
        """
        try:
            module = import_module(self.module)
            return getattr(module, self.attribute) if self.attribute else module
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and is_extra(error):
                raise
            why = f"{type(error).__name__}: {(str(error) or 'no reason given').splitlines()[0]}"
            what = f"{self.name!r} of another package cannot be loaded: {why}"
            raise DelaylabError(what, self.value, "correct or uninstall that package") from error


def names(group: Additions) -> list[str]:
    """Return the names of a group's entry points, sorted."""
    return sorted(entry_points(group, WHAT))


def load(group: Additions, name: str) -> object | None:
    """Return the addition of this name, None if no package has one.

    Raise BadInput if two packages have one, DelaylabError if it cannot be loaded.
    """
    entry = entry_points(group, WHAT).get(name)
    return None if entry is None else entry.load()


def load_all(group: Additions) -> list[object]:
    """Return all additions of a group in the order of their names, as `load` does."""
    return [entry.load() for _, entry in sorted(entry_points(group, WHAT).items())]


def entry_points(group: str, things: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; `things` says what they are.

    Raise BadInput if two packages have one of the same name.
    """
    found: dict[str, EntryPoint] = {}
    for name, value in entries(group):
        if (other := found.setdefault(name, EntryPoint(name, value))).value != value:
            both = f"{other.value} and {value}"
            raise BadInput(f"two {things} are named {name!r}: {both}", fix="uninstall one")
    return found


def entries(group: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a group's entry points in all installed packages."""
    for file in _files():
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123  pathlib takes 3 ms
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
            name, _, value = line.partition("=")
            # An extra that the entry point needs may follow: `module:name [extra]`.
            yield name.strip(), value.partition("[")[0].strip()
