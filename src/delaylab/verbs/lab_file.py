"""Lab file for `delaylab plan` and `up`, checked against this machine as well."""

from __future__ import annotations

from pathlib import Path

from delaylab.lab.cpus import check_cpus
from delaylab.machines import LOCAL
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import Document, Location, read
from delaylab.spec.this_machine import LOCAL_MACHINE


def load(path: Path) -> Lab:
    """Read a lab file; raise BadInput for its errors, NotHere for CPUs that this machine lacks."""
    document = read(path)
    lab = lab_from(document)
    check_cpus(
        lab.on_machine(LOCAL_MACHINE),
        LOCAL,
        lambda location: document.where(_in_file(document, location)),
    )
    return lab


def _in_file(document: Document, location: Location) -> Location:
    """Return the place of a node in the file, which has one entry for all that a count makes."""
    place, name, *rest = location if len(location) > 2 else (*location, "")
    if place != "nodes" or (place, name) in document.lines:
        return location
    return (place, str(name).rpartition("-")[0], *rest)
