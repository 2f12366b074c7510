"""The formats of maps: one module each, all listed here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from delaylab.errors import BadInput, did_you_mean
from delaylab.topology.formats import (
    brite,
    caida,
    cch,
    containerlab,
    gml,
    graphml,
    gtitm,
    matrix,
    rocketfuel,
    sndlib,
)
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.source import Source, first_lines

LAB = re.compile(r"^(lab|study)\s*:", re.M)
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
    return lambda text: any(map(fits, first_lines(text, LOOKED_AT)))


_ALL = (
    Format("graphml", graphml.fits, graphml.read),
    Format("gml", gml.fits, gml.read),
    Format("sndlib-xml", sndlib.fits_xml, sndlib.read_xml),
    Format("sndlib", sndlib.fits_native, sndlib.read_native),
    Format("brite", brite.fits, brite.read),
    Format("gtitm-alt", gtitm.fits_alt, gtitm.read_alt),
    Format("gtitm-gb", gtitm.fits_gb, gtitm.read_gb),
    Format("containerlab", containerlab.fits, containerlab.read),
    Format("caida", _one_line(caida.fits), caida.read),
    Format("cch", _one_line(cch.fits), cch.read),
    Format("matrix", matrix.fits, matrix.read),
    Format("rocketfuel", _one_line(rocketfuel.fits), rocketfuel.read),
)
FORMATS = {each.name: each for each in _ALL}
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
    """Return the format of a source, by its content; raise BadInput if no format fits."""
    for each in FORMATS.values():
        if each.fits(source.text):
            return each
    if is_lab(source):
        what = "this is a lab file already, or a study"
        raise BadInput(what, source.name, f"delaylab up {source.name}")
    fix = f"--format: {', '.join(FORMATS)}"
    raise BadInput("no format of maps is recognised in it", source.name, fix)


def is_lab(source: Source) -> bool:
    """Return True for a lab file or a study."""
    return LAB.search(source.text[:20_000]) is not None
