"""Lab and study files for the API."""

from __future__ import annotations

import os
from collections.abc import Mapping

from delaylab.errors import BadInput
from delaylab.papers.studies import find
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import of_data, read
from delaylab.study_file.load import study_from
from delaylab.study_file.maps import with_maps
from delaylab.verbs.study_file import LoadedStudy, checked

__all__ = ["Lab", "LoadedStudy", "load"]

File = str | os.PathLike[str]
Data = Mapping[str, object]
"""A lab or a study as Python objects, in the form of its file."""


def load(path: File | Data, *, paper: File | None = None) -> Lab | LoadedStudy:
    """Return the checked lab or study of a file, or of the same data as Python objects.

    A study may also be given by its name (`quickstart`) or by its paper's folder, whose code is
    then imported. `paper` is a paper's folder or the name of an installed one. Raise BadInput, with
    file and line, for an invalid file.
    """
    if isinstance(path, Mapping):
        text, document = "", of_data("the given data", dict(path))
    else:
        text = os.fspath(path)
        document = read(find(text))
    if isinstance(document.data, dict) and "study" in document.data:
        return checked(study_from(with_maps(document)), text, os.fspath(paper) if paper else None)
    return lab_from(document)


def lab_of(given: Lab | LoadedStudy | File) -> Lab:
    """Return a lab that is given as such or by its file; raise BadInput for a study."""
    loaded = load(given) if isinstance(given, str | os.PathLike) else given
    if isinstance(loaded, LoadedStudy):
        raise BadInput("it is a study, not a lab", loaded.study.document.name, "delaylab.run")
    return loaded


def study_of(given: Lab | LoadedStudy | File, paper: File | None) -> LoadedStudy:
    """Return a study that is given as such, by name, file or folder; raise BadInput for a lab."""
    loaded = load(given, paper=paper) if isinstance(given, str | os.PathLike) else given
    if isinstance(loaded, Lab):
        raise BadInput("it is a lab, not a study", loaded.name, "delaylab.up")
    return loaded
