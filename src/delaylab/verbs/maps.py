"""Verbs `delaylab import` and `delaylab generate`: a map becomes a lab file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.io.files import write_text
from delaylab.io.terminal import print_error
from delaylab.resolve.load import lab_from
from delaylab.spec.base import NAME
from delaylab.spec.kinds import FACTS
from delaylab.topology import collections, formats
from delaylab.topology.generators import NetworkRequest, generate
from delaylab.topology.lab import MapLab, lab_of
from delaylab.topology.model import Map
from delaylab.topology.names import slug
from delaylab.topology.options import Options
from delaylab.topology.source import read_source
from delaylab.topology.summary import summary
from delaylab.topology.text import text_of


def imported(source: str, name: str | None, form: str | None, options: Options) -> MapLab:
    """Return the lab of a file, a folder or a map of a collection; check it as a lab file's."""
    if collections.is_named(source):
        return checked(collections.read_named(source, options), name, options)
    return checked(formats.read(read_source(Path(source)), options, form), name, options)


def generated(request: NetworkRequest, name: str | None, options: Options) -> MapLab:
    """Return the lab of a generated network; check it as a lab file's."""
    return checked(generate(request), name, options)


def checked(network: Map, name: str | None, options: Options) -> MapLab:
    """Return the lab of a map; raise BadInput, with the line of the source, if it is invalid."""
    if name is not None and not re.fullmatch(NAME, name):
        fix = "lower-case letters, digits and hyphens, a letter first, at most 31 characters"
        raise BadInput(f"{name!r} is no name of a lab", "", fix)
    if options.kind not in FACTS:
        raise BadInput(f"no kind {options.kind!r}", "", f"kinds: {', '.join(FACTS)}")
    lab = lab_of(network, name or slug(network.name) or "map", options)
    lab_from(lab.document())
    return lab


def deliver(lab: MapLab, target: Path | None) -> None:
    """Print the lab file, or write it to a file; print the summary to standard error."""
    text = text_of(lab)
    if target is None or str(target) == "-":
        sys.stdout.write(text)
    else:
        write_text(target, text)
    for line in summary(lab):
        print_error(line)
