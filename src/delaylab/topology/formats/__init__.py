"""The formats of maps: one module each, all listed here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from delaylab.errors import BadInput, did_you_mean
from delaylab.topology.formats import (
    brite,
    caida,
    cch,
    containerlab,
    gml,
    graphml,
    gtitm,
    kathara,
    matrix,
    netlab,
    rocketfuel,
    sndlib,
)
from delaylab.topology.formats.shares import FittingLines, is_yaml, share
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.source import LATENCIES, WEIGHTS, Source, lines_that_count

ROCKETFUEL, ROCKETFUELS = "rocketfuel", (WEIGHTS, LATENCIES)
LAB = re.compile(r"^(lab|study)\s*:", re.M)


@dataclass(frozen=True)
class Format:
    """A format: how a text of it is recognised, and its reader."""

    name: str
    fits: Callable[[str], bool | FittingLines]
    """Return True for a text with the format's signature; without one, the share of its lines."""
    read: Callable[[Source, Options], Map]


@dataclass(frozen=True)
class Recognised:
    """The format that a source is taken for, and what the guess rests on, if it is one."""

    format: Format
    guess: FittingLines | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what an import says about the guess."""
        if self.guess is None:
            return ()
        unfit, looked_at = self.guess.all - self.guess.fitting, self.guess.all
        lines = f"{unfit} of {looked_at} lines looked at do not fit"
        return (f"the format is a guess: {self.format.name}; {lines} (--format)",)


def _each_line(fits: Callable[[str], bool]) -> Callable[[str], FittingLines]:
    """Return a test of a whole text: the share of the lines that fit."""
    return lambda text: share(fits, lines_that_count(text))


_ALL = (
    Format("graphml", graphml.fits, graphml.read),
    Format("gml", gml.fits, gml.read),
    Format("sndlib-xml", sndlib.fits_xml, sndlib.read_xml),
    Format("sndlib", sndlib.fits_native, sndlib.read_native),
    Format("brite", brite.fits, brite.read),
    Format("gtitm-alt", gtitm.fits_alt, gtitm.read_alt),
    Format("gtitm-gb", gtitm.fits_gb, gtitm.read_gb),
    Format("containerlab", containerlab.fits, containerlab.read),
    Format("netlab", netlab.fits, netlab.read),
    Format("kathara", kathara.fits, kathara.read),
    Format("caida", _each_line(caida.fits), caida.read),
    Format("cch", _each_line(cch.fits), cch.read),
    Format("matrix", matrix.fits, matrix.read),
    Format(ROCKETFUEL, _each_line(rocketfuel.fits), rocketfuel.read),
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
    found = recognised(source)
    made = found.format.read(source, options)
    return replace(made, assumptions=(*found.remarks, *made.assumptions))


def recognised(source: Source) -> Recognised:
    """Return the format of a source, by its content; raise BadInput if no format fits."""
    nearest: tuple[FittingLines, str] | None = None
    for each in FORMATS.values():
        fit = each.fits(source.text)
        if fit is True:
            return Recognised(each)
        if isinstance(fit, FittingLines):
            if fit.fitting and each.name == ROCKETFUEL and source.name.endswith(ROCKETFUELS):
                return Recognised(each)  # the name of the file says so
            if fit.nearly_all:
                return Recognised(each, fit)
            if fit.fitting and (nearest is None or fit.fitting > nearest[0].fitting):
                nearest = fit, each.name
    if is_lab(source):
        what = "this is a lab file already, or a study"
        raise BadInput(what, source.name, f"delaylab up {source.name}")
    fix = f"--format: {', '.join(FORMATS)}"
    what = "no format of maps is recognised in it"
    if nearest is not None:
        fit, name = nearest
        what += f"; {fit.fitting} of {fit.all} lines fit {name}, which is too few"
    raise BadInput(what, source.name, fix)


def is_lab(source: Source) -> bool:
    """Return True for a lab file or a study."""
    head = source.text[:20_000]
    return LAB.search(head) is not None and is_yaml(lines_that_count(head))
