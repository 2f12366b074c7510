"""Reading of study files; apart from that of labs, since `up` needs no model of a study."""

from __future__ import annotations

from pathlib import Path

from delaylab.api.documents import MOST_BYTES, Document, Location, read_document, validate
from delaylab.api.errors import BadInput
from delaylab.api.files import check_file
from delaylab.api.lab_files import (
    OF_STUDIES,
    checked_lab,
    refuse_foreign,
    says_lab,
    want_lab,
    with_files,
)
from delaylab_study.study_file.check_claims import check_claims
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.study_file.model import StudySpec


def load_study(path: Path) -> StudyFile:
    """Read a study file and the lab file it names; its combinations are checked when made."""
    return study_from(read_document(path))


def study_from(document: Document) -> StudyFile:
    """Return the study of a document; raise BadInput if its lab is invalid.

    The lab is checked as it is before any factor changes it.
    """
    refuse_foreign(document)
    if says_lab(document, "nodes") and not says_lab(document, *OF_STUDIES):
        fix = f"delaylab up {document.name}"
        raise document.refuse("this is a lab file; a study was wanted", ("nodes",), fix)
    document = with_files(document)
    if isinstance(document.data, dict) and isinstance(document.data.get("lab"), dict):
        checked_lab(document, ("lab",))
    spec = validate(StudySpec, document)
    if isinstance(spec.lab, str):
        lab_document = _lab_file(document, spec.lab)
        at: Location = ()
    else:
        lab_document, at = document, ("lab",)
    checked_lab(lab_document, at)
    check_claims(spec.claims, spec.factors, document, probed=spec.probe is not None)
    return StudyFile(spec, document, lab_document, at)


def _lab_file(document: Document, name: str) -> Document:
    path = document.folder / name
    try:
        check_file(path, MOST_BYTES)
    except BadInput as error:
        raise document.refuse(f"no lab file {path}: {error.what}", ("lab",), error.fix) from None
    found = with_files(read_document(path, pipes=False))
    want_lab(found)
    return found
