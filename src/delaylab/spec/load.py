"""Reading of lab and study files: parse, add the files they name, validate, check."""

from __future__ import annotations

from pathlib import Path

from delaylab.errors import BadInput
from delaylab.io.files import check_file
from delaylab.spec import limits
from delaylab.spec.check import check_lab
from delaylab.spec.check_claims import check_claims
from delaylab.spec.combine import StudyFile
from delaylab.spec.expand import expand
from delaylab.spec.files import with_files
from delaylab.spec.foreign import foreign, remedy
from delaylab.spec.lab import LabSpec
from delaylab.spec.source import Document, Location, read, validate
from delaylab.spec.study import StudySpec

OF_STUDIES = ("study", "probe", "factors", "repeat")
"""Fields by which a study is known from a lab, if it has no `nodes`."""


def load_lab(path: Path) -> LabSpec:
    """Read and check a lab file."""
    return lab_from(read(path))


def lab_from(document: Document) -> LabSpec:
    """Return the checked lab of a document, with every `count:` expanded."""
    _want_lab(document)
    document = with_files(document)
    lab = validate(LabSpec, document)
    check_lab(lab, document)
    return expand(lab)


def load_study(path: Path) -> StudyFile:
    """Read a study file and the lab file it names; its combinations are checked when made."""
    return study_from(read(path))


def study_from(document: Document) -> StudyFile:
    """Return the study of a document; raise BadInput if its lab is invalid.

    The lab is checked as it is before any factor changes it.
    """
    _refuse_foreign(document)
    if _says(document, "nodes") and not _says(document, *OF_STUDIES):
        fix = f"delaylab up {document.name}"
        raise document.refuse("this is a lab file; a study was wanted", ("nodes",), fix)
    document = with_files(document)
    if isinstance(document.data, dict) and isinstance(document.data.get("lab"), dict):
        check_lab(validate(LabSpec, document, ("lab",)), document, ("lab",))
    spec = validate(StudySpec, document)
    if isinstance(spec.lab, str):
        lab_document = _lab_file(document, spec.lab)
        at: Location = ()
    else:
        lab_document, at = document, ("lab",)
    check_lab(validate(LabSpec, lab_document, at), lab_document, at)
    check_claims(spec.claims, spec.factors, document, probed=spec.probe is not None)
    return StudyFile(spec, document, lab_document, at)


def _want_lab(document: Document) -> None:
    _refuse_foreign(document)
    said = [field for field in OF_STUDIES if _says(document, field)]
    if said and not _says(document, "nodes"):
        fix = f"delaylab run {document.name}"
        raise document.refuse("this is a study; a lab file was wanted", (said[0],), fix)


def _refuse_foreign(document: Document) -> None:
    what = foreign(document.data)
    if what is not None:
        raise document.refuse(
            f"this is {what}, not a file of delaylab", (), remedy(what, document.name)
        )


def _says(document: Document, *fields: str) -> bool:
    return isinstance(document.data, dict) and any(field in document.data for field in fields)


def _lab_file(document: Document, name: str) -> Document:
    path = document.folder / name
    try:
        check_file(path, limits.MOST_BYTES)
    except BadInput as error:
        raise document.refuse(f"no lab file {path}: {error.what}", ("lab",), error.fix) from None
    found = with_files(read(path, pipes=False))
    _want_lab(found)
    return found
