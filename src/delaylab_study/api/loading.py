"""Study files for the API."""

from __future__ import annotations

import os
from collections.abc import Mapping

from delaylab.api.documents import document_of_data, read_document
from delaylab.api.errors import BadInput
from delaylab.api.loading import Data, File, Lab
from delaylab_study.papers.studies import find
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.maps import with_maps
from delaylab_study.verbs.study_file import LoadedStudy, checked

__all__ = ["LoadedStudy", "load"]


def load(study: File | Data, *, paper: File | None = None) -> LoadedStudy:
    """Return the checked study of a file, or of the same data as Python objects.

    A study may also be given by its name (`quickstart`) or by its paper's folder, whose code is
    then imported. `paper` is a paper's folder or the name of an installed one. Raise BadInput, with
    file and line, for an invalid file.
    """
    if isinstance(study, Mapping):
        text, document = "", document_of_data("the given data", dict(study))
    else:
        text = os.fspath(study)
        document = read_document(find(text))
    if isinstance(document.data, dict) and "lab" in document.data and "study" not in document.data:
        raise BadInput("it is a lab, not a study", document.name, "delaylab.up")
    return checked(study_from(with_maps(document)), text, os.fspath(paper) if paper else None)


def study_of(given: LoadedStudy | Lab | File, paper: File | None) -> LoadedStudy:
    """Return a study that is given as such, by name, file or folder; raise BadInput for a lab."""
    if isinstance(given, Lab):
        raise BadInput("it is a lab, not a study", given.name, "delaylab.up")
    return load(given, paper=paper) if isinstance(given, str | os.PathLike) else given
