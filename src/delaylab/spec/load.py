"""Reading of lab files: parse, add the files they name, validate, check."""

from __future__ import annotations

from pathlib import Path

from delaylab.spec.check import check_lab
from delaylab.spec.conditions.files import with_files
from delaylab.spec.expand import written_out
from delaylab.spec.foreign import foreign, remedy
from delaylab.spec.lab import LabSpec
from delaylab.spec.source import Document, read, validate

OF_STUDIES = ("study", "probe", "factors", "repeat")
"""Fields by which a study is known from a lab, if it has no `nodes`."""


def load_lab(path: Path) -> LabSpec:
    """Read and check a lab file."""
    return lab_from(read(path))


def lab_from(document: Document) -> LabSpec:
    """Return the checked lab of a document, with every `count:` expanded and nodes placed."""
    lab = unplaced(document)
    if not lab.wants_hosts:
        return lab
    # Few labs ask for a placement.
    from delaylab.placement import Infeasible  # noqa: PLC0415
    from delaylab.spec.placed import with_hosts  # noqa: PLC0415

    try:
        return with_hosts(lab)
    except Infeasible as error:
        raise document.refuse(error.what, ("place",), error.fix) from None


def unplaced(document: Document) -> LabSpec:
    """Return the checked lab of a document; nodes without a host still have none."""
    want_lab(document)
    document = with_files(document)
    lab = validate(LabSpec, document)
    check_lab(lab, document)
    return written_out(lab)


def want_lab(document: Document) -> None:
    """Raise BadInput for what is a study, or another program's file."""
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
