"""Reading of lab files: parse, add the files they name, validate, check, resolve."""

from __future__ import annotations

from pathlib import Path

from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import resolve, unplaced
from delaylab.resolve.steps import Impossible
from delaylab.spec.check import check_lab
from delaylab.spec.conditions.files import with_files
from delaylab.spec.foreign import foreign, remedy
from delaylab.spec.lab import LabSpec
from delaylab.spec.source import Document, Location, read, validate

OF_STUDIES = ("study", "probe", "factors", "repeat")
"""Fields by which a study is known from a lab, if it has no `nodes`."""


def load_lab(path: Path) -> Lab:
    """Read, check and resolve a lab file."""
    return lab_from(read(path))


def lab_from(document: Document) -> Lab:
    """Return the lab of a document; raise BadInput, with its line, for errors."""
    file = lab_file(document)
    if file.place is None:
        return resolve(file)
    from delaylab.placement import Infeasible  # noqa: PLC0415  few labs ask for a placement

    try:
        return resolve(file)
    except Infeasible as error:
        raise document.refuse(error.what, ("place",), error.fix) from None


def lab_file(document: Document) -> LabSpec:
    """Return what a document says of a lab, with the files that it names."""
    want_lab(document)
    return checked(with_files(document))


def checked(document: Document, at: Location = ()) -> LabSpec:
    """Return what a document says of a lab at a place in it; raise BadInput for errors."""
    file = validate(LabSpec, document, at)
    check_lab(file, document, at)
    try:
        if file.timeline:
            unplaced(file)
    except Impossible as error:
        fix = "look at the events before it"
        raise document.refuse(str(error), (*at, "timeline", error.place), fix) from None
    return file


def want_lab(document: Document) -> None:
    """Raise BadInput if the file is a study or belongs to another program."""
    refuse_foreign(document)
    said = [field for field in OF_STUDIES if says(document, field)]
    if said and not says(document, "nodes"):
        fix = f"delaylab run {document.name}"
        raise document.refuse("this is a study; a lab file was wanted", (said[0],), fix)


def refuse_foreign(document: Document) -> None:
    """Raise BadInput for another program's file."""
    what = foreign(document.data)
    if what is not None:
        raise document.refuse(
            f"this is {what}, not a file of delaylab", (), remedy(what, document.name)
        )


def says(document: Document, *fields: str) -> bool:
    """Return True if a document has one of the fields."""
    return isinstance(document.data, dict) and any(field in document.data for field in fields)
