"""The formats of maps: one module each, all listed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from delaylab.errors import BadInput, did_you_mean
from delaylab.topology.formats import rocketfuel
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.source import Source

LOOKED_AT = 20
"""The lines, not counting comments and empty ones, that a format is recognised by."""


@dataclass(frozen=True)
class Format:
    """A format: how a text of it is recognised, and its reader."""

    name: str
    fits: Callable[[str], bool]
    """Return True for the text of such a file, or for its first lines."""
    read: Callable[[Source, Options], Map]


def _one_line(fits: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return a test of a whole text: one of its first lines fits."""
    return lambda text: any(fits(line) for line in islice(_lines(text), LOOKED_AT))


def _lines(text: str) -> list[str]:
    head = text[:20_000].splitlines()
    return [line for line in head if line.strip() and not line.startswith("#")]


FORMATS = {
    each.name: each for each in (Format("rocketfuel", _one_line(rocketfuel.fits), rocketfuel.read),)
}
"""The formats by name, in the order in which they are tried."""


def read(source: Source, options: Options, name: str | None = None) -> Map:
    """Read a source in a format; without a name, in the one that its content has."""
    if name is not None:
        if name not in FORMATS:
            fix = f"formats: {', '.join(FORMATS)}"
            raise BadInput(f"no format {name!r}{did_you_mean(name, FORMATS)}", "", fix)
        return FORMATS[name].read(source, options)
    return recognised(source).read(source, options)


def recognised(source: Source) -> Format:
    """Return the format that a source's content has; raise BadInput if it is none of them."""
    for each in FORMATS.values():
        if each.fits(source.text):
            return each
    fix = f"--format: {', '.join(FORMATS)}"
    raise BadInput("no format of maps is recognised in it", source.name, fix)
